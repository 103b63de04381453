//! Reading ahead: the files that a kustomization file lists, read and parsed side by side.

use firstpass_source::RepoPath;

use crate::Error;
use crate::file::Located;
use crate::loader::{Loaded, Loader};
use crate::objects::{self, Parsed};
use crate::side_by_side;

/// What a path leads to, unless it is no file of objects.
pub(crate) enum Ahead {
    /// A file, and what is in it.
    Parsed(RepoPath, Parsed),
    /// It is the URL of a file.
    Remote,
}

/// Reads the paths, in their order; where threads do not help, each when it is asked for.
pub(crate) fn read<'a>(
    loader: &'a Loader<'_>,
    paths: &'a [Located<String>],
) -> Box<dyn Iterator<Item = Result<Ahead, Error>> + 'a> {
    let one = |path: &Located<String>| read_one(loader, path);
    if side_by_side::helps(paths.len()) {
        Box::new(side_by_side::map(paths.iter().collect(), one).into_iter())
    } else {
        Box::new(paths.iter().map(one))
    }
}

fn read_one(loader: &Loader<'_>, path: &str) -> Result<Ahead, Error> {
    let (file, bytes) = match loader.load(path)? {
        Loaded::Bytes { path, bytes } => (path, bytes),
        Loaded::Remote => return Ok(Ahead::Remote),
    };
    let text = firstpass_yaml::decode(&bytes).map_err(|error| Error::unreadable(&file, &error))?;
    let parsed = objects::parse(&text, &file)?;
    Ok(Ahead::Parsed(file, parsed))
}
