//! What one build shares from its first directory to its last, and what one kustomization file may reach.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use firstpass_source::RepoPath;
use firstpass_yaml::Mark;

use crate::loader::{Loaded, Loader};
use crate::remote::RemoteRef;
use crate::schemas::Schemas;
use crate::shared::Numbers;
use crate::{Error, Mode, Remote, Warning};

/// One build.
pub(crate) struct Session {
    policy: Remote,
    pub(crate) schemas: Rc<Schemas>,
    /// Numbers for values that stand in several places at once.
    pub(crate) shared: Numbers,
    remote: RefCell<Vec<RemoteRef>>,
    warnings: RefCell<Vec<Warning>>,
}

/// One kustomization file that is being obeyed: what it names is read from its directory, and what is wrong with it is
/// reported at it.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a, 'tree> {
    pub(crate) session: &'a Session,
    pub(crate) loader: &'a Loader<'tree>,
    /// The kustomization file.
    pub(crate) file: &'a RepoPath,
}

/// A file that was read.
pub(crate) struct Text {
    pub(crate) path: RepoPath,
    pub(crate) bytes: Arc<[u8]>,
}

impl Text {
    /// The bytes as text.
    pub(crate) fn decode(&self) -> Result<Cow<'_, str>, Error> {
        firstpass_yaml::decode(&self.bytes).map_err(|error| Error::unreadable(&self.path, &error))
    }
}

impl Session {
    pub(crate) fn new(mode: Mode, policy: Remote) -> Session {
        Session {
            policy,
            schemas: Rc::new(Schemas::new(mode == Mode::Flux)),
            shared: Numbers::default(),
            remote: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// Whether a part of the build lies elsewhere and is missing. What refers to nothing may then refer into it.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.remote.borrow().is_empty()
    }

    pub(crate) fn warn(&self, message: impl Into<String>, file: &RepoPath, line: u32) {
        self.warnings.borrow_mut().push(Warning {
            message: message.into(),
            file: file.clone(),
            line,
        });
    }

    /// What was found missing and worth a warning.
    pub(crate) fn into_findings(self) -> (Vec<RemoteRef>, Vec<Warning>) {
        let mut remote = self.remote.into_inner();
        remote.sort();
        remote.dedup();
        (remote, self.warnings.into_inner())
    }
}

impl Site<'_, '_> {
    /// Reads a file that the kustomization file names at `mark`; nothing if it lies elsewhere and the build goes on
    /// without it.
    pub(crate) fn read(&self, path: &str, mark: Mark) -> Result<Option<Text>, Error> {
        match self
            .loader
            .load(path)
            .map_err(|error| error.at(self.file, mark))?
        {
            Loaded::Bytes { path, bytes } => Ok(Some(Text { path, bytes })),
            Loaded::Remote => self.elsewhere(path, mark).map(|()| None),
        }
    }

    /// Takes note of a part that lies elsewhere.
    ///
    /// # Errors
    /// Unless the build goes on without such parts.
    pub(crate) fn elsewhere(&self, text: &str, mark: Mark) -> Result<(), Error> {
        if self.session.policy == Remote::Refuse {
            return Err(
                Error::new(format!("'{text}' lies elsewhere, and nothing is fetched"))
                    .at(self.file, mark)
                    .help("copy it into the repository"),
            );
        }
        self.session.remote.borrow_mut().push(RemoteRef {
            text: text.to_owned(),
            file: self.file.clone(),
            line: mark.line,
            column: mark.column,
        });
        Ok(())
    }
}
