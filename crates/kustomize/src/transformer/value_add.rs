//! The transformer that adds one value in many places; it has no field in the kustomization file.

use firstpass_yaml::{Node, Tag};

use super::namespace::Subjects;
use super::selection::select;
use super::{By, Namespace, Transform};
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec::{self, Create};
use crate::file::read::{Fields, Mismatch, Read, Rules};
use crate::file::{FieldSpec, Located, Selector};
use crate::first;
use crate::resmap::{ResMap, transformed};
use crate::scalar::{set_scalar, text_of};
use crate::session::Site;

/// Adds a value.
pub(crate) struct ValueAdd {
    value: String,
    targets: Vec<Target>,
}

#[derive(Default)]
struct Target {
    selector: Option<Selector>,
    field_path: String,
    /// Which part of the path that the field holds the value becomes, from 1; 0 if it becomes the whole field.
    position: i64,
}

#[derive(Default)]
struct Targets(Vec<Target>);

impl ValueAdd {
    /// Reads the configuration, and the file of targets that it may name.
    pub(crate) fn new(config: &Node, site: Site<'_, '_>) -> Result<ValueAdd, Error> {
        let in_config = |error: Mismatch| error.in_file(site.file);
        let mut fields = Fields::of(config, Rules::OBJECT).map_err(in_config)?;
        let value: String = fields.take("value").map_err(in_config)?;
        let mut targets: Vec<Target> = fields.take("targets").map_err(in_config)?;
        let file: Located<String> = fields.take("targetFilePath").map_err(in_config)?;
        if !file.is_empty()
            && let Some(file) = site.read(&file, file.mark)?
        {
            let node = first::document(&file.decode()?, &file.path)?;
            if !node.is_null() {
                let more = Targets::read(&node, Rules::LENIENT).map_err(|error| error.in_file(&file.path))?;
                targets.extend(more.0);
            }
        }
        if targets.is_empty() {
            return Err(Error::new("must specify at least one target"));
        }
        for target in &targets {
            if target.field_path.is_empty() {
                return Err(Error::new("fieldPath cannot be empty"));
            }
            if target.position < 0 {
                return Err(Error::new(format!(
                    "value of FilePathPosition ({}) cannot be negative",
                    target.position
                )));
            }
        }
        let value = match value.trim() {
            "" => site.loader.root().file_name().to_owned(),
            value => value.to_owned(),
        };
        Ok(ValueAdd { value, targets })
    }
}

impl Read for Target {
    fn read(node: &Node, rules: Rules) -> Result<Target, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        Ok(Target {
            selector: fields.take_if_set("selector")?,
            field_path: fields.take("fieldPath")?,
            position: fields.take("filePathPosition")?,
        })
    }
}

impl Read for Targets {
    fn read(node: &Node, rules: Rules) -> Result<Targets, Mismatch> {
        Fields::of(node, rules)?.take("targets").map(Targets)
    }
}

impl Transform for ValueAdd {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        for target in &self.targets {
            let selected = match &target.selector {
                Some(selector) => select(resources, selector)?,
                None => (0..resources.len()).collect(),
            };
            for position in selected {
                let resource = resources.get_mut(position);
                if target.field_path == "metadata/namespace" {
                    let namespace = Namespace::new(
                        self.value.clone(),
                        &FieldSpecs::default(),
                        false,
                        Subjects::Default,
                    );
                    namespace.set(resource)?;
                } else {
                    let spec = FieldSpec {
                        path: target.field_path.clone(),
                        create: true,
                        ..FieldSpec::default()
                    };
                    let create = Create::Scalar(Tag::Str);
                    fieldspec::for_each(
                        resource.node_mut(),
                        &spec,
                        Some(&create),
                        &mut |node: &mut Node| {
                            let value = match target.position {
                                0 => self.value.clone(),
                                position => inserted(text_of(node), position.unsigned_abs() - 1, &self.value),
                            };
                            set_scalar(node, &value, None)
                        },
                    )?;
                }
                resource.shaped_by(transformed(by.file, "transformers"));
            }
        }
        Ok(())
    }
}

/// A path with one more part, at a position or at the end if the path is shorter. A leading slash stays in front.
fn inserted(path: &str, position: u64, part: &str) -> String {
    let relative = path.trim_start_matches('/');
    let mut parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty()).collect();
    let position = usize::try_from(position).unwrap_or(usize::MAX).min(parts.len());
    parts.insert(position, part);
    let joined = parts.join("/");
    if path.starts_with('/') {
        format!("/{joined}")
    } else {
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::inserted;

    #[test]
    fn parts_are_inserted_into_paths() {
        for (path, position, expected) in [
            ("", 0, "X"),
            ("/", 3, "/X"),
            ("pie", 0, "X/pie"),
            ("/raw", 1, "/raw/X"),
            ("/a/nice/warm/pie", 3, "/a/nice/warm/X/pie"),
            ("a/b", 99, "a/b/X"),
        ] {
            assert_eq!(inserted(path, position, "X"), expected);
        }
    }
}
