//! `replacements`.

use firstpass_yaml::{Node, NodeKind};

use super::{By, Transform};
use crate::Error;
use crate::file::read::{Read, Rules};
use crate::file::{Located, Replacement, ReplacementField};
use crate::first;
use crate::replacement::{self, Target};
use crate::resid::ResId;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::session::{Site, Text};

/// All entries of `replacements`, ready to be applied.
pub(crate) struct Replacements {
    replacements: Vec<Located<Replacement>>,
}

impl Replacements {
    /// Loads the replacements that lie in files.
    pub(crate) fn new(
        fields: &[Located<ReplacementField>],
        site: Site<'_, '_>,
    ) -> Result<Replacements, Error> {
        let mut replacements = Vec::new();
        for field in fields {
            let Replacement { source, targets, .. } = &field.replacement;
            if field.path.is_empty() {
                replacements.push(Located {
                    value: field.replacement.clone(),
                    mark: field.mark,
                });
                continue;
            }
            if source.is_some() || targets.as_ref().is_some_and(|targets| !targets.is_empty()) {
                return Err(Error::new("cannot specify both path and inline replacement")
                    .at(site.file, field.mark)
                    .help("keep one of them"));
            }
            if let Some(file) = site.read(&field.path, field.mark)? {
                for value in read(&file)? {
                    replacements.push(Located {
                        value,
                        mark: field.mark,
                    });
                }
            }
        }
        Ok(Replacements { replacements })
    }
}

/// The replacements in a file: a list of them, or one.
fn read(file: &Text) -> Result<Vec<Replacement>, Error> {
    let node = first::document(&file.decode()?, &file.path)?;
    match &node.kind {
        NodeKind::Seq(_) => Vec::read(&node, Rules::LENIENT),
        NodeKind::Map(_) => Replacement::read(&node, Rules::LENIENT).map(|one| vec![one]),
        NodeKind::Scalar(_) => {
            return Err(Error::new(
                "unsupported replacement type encountered within replacement path: neither list nor mapping",
            )
            .at(&file.path, node.mark));
        }
    }
    .map_err(|error| error.in_file(&file.path))
}

impl Transform for Replacements {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        for replacement in &self.replacements {
            match replacement::apply(resources.items_mut(), replacement) {
                Ok(()) => {}
                Err(_) if by.session.is_incomplete() => {}
                Err(error) => return Err(error.at(by.file, replacement.mark)),
            }
        }
        Ok(())
    }
}

impl Target for Resource {
    fn node(&self) -> &Node {
        Resource::node(self)
    }

    fn node_mut(&mut self) -> &mut Node {
        Resource::node_mut(self)
    }

    fn ids(&self) -> Vec<ResId> {
        let previous = self.previous_ids().iter().map(|id| id.id.clone());
        std::iter::once(self.current_id().id.clone())
            .chain(previous)
            .collect()
    }
}
