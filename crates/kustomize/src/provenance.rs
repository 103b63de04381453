//! What `buildMetadata` makes the output say about where objects came from.

use std::fmt::Write as _;

use firstpass_yaml::{Scalar, Tag};

use crate::resource::{Resource, notes};

/// A file, or a generator or transformer and the file that configures it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// The file of an object, from the directory that the build was asked for.
    pub(crate) path: String,
    /// The file that configures a generator or transformer.
    pub(crate) configured_in: String,
    /// The generator or transformer.
    pub(crate) configured_by: Option<Configured>,
}

/// A generator or transformer as an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Configured {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Provenance {
    pub(crate) fn of_file(path: String) -> Provenance {
        Provenance {
            path,
            ..Provenance::default()
        }
    }

    /// Of a builtin that a kustomization file configures.
    pub(crate) fn of_builtin(file: String, kind: &str) -> Provenance {
        Provenance {
            path: String::new(),
            configured_in: file,
            configured_by: Some(Configured {
                api_version: "builtin".to_owned(),
                kind: kind.to_owned(),
                ..Configured::default()
            }),
        }
    }

    /// Of a plugin that an object configures; nothing if nobody keeps track.
    pub(crate) fn of_plugin(config: &Resource) -> Option<Provenance> {
        let origin = config.annotation(notes::ORIGIN)?;
        let origin = firstpass_yaml::parse_one(origin).ok()?;
        let text = |name: &str| {
            origin
                .get(name)
                .and_then(firstpass_yaml::Node::as_text)
                .unwrap_or_default()
        };
        Some(Provenance {
            path: String::new(),
            configured_in: text("path").to_owned(),
            configured_by: Some(Configured {
                api_version: config.gvk().api_version(),
                kind: config.kind().to_owned(),
                name: config.name().to_owned(),
                namespace: config.namespace().to_owned(),
            }),
        })
    }

    /// As YAML, each line after the first indented.
    pub(crate) fn to_yaml(&self, indent: &str) -> String {
        let mut lines = Vec::new();
        let mut field = |indent: &str, name: &str, value: &str| {
            if !value.is_empty() {
                lines.push(format!("{indent}{name}: {}", quoted_if_needed(value)));
            }
        };
        field("", "path", &self.path);
        field("", "configuredIn", &self.configured_in);
        if let Some(by) = &self.configured_by {
            let mut inner = String::new();
            for (name, value) in [
                ("apiVersion", &by.api_version),
                ("kind", &by.kind),
                ("name", &by.name),
                ("namespace", &by.namespace),
            ] {
                if !value.is_empty() {
                    let _ = write!(inner, "\n{indent}  {name}: {}", quoted_if_needed(value));
                }
            }
            lines.push(format!("configuredBy:{inner}"));
        }
        lines.join(&format!("\n{indent}")) + "\n"
    }
}

/// Adds a transformer to what an object says has shaped it. An object that does not say where it came from came from the
/// transformer.
pub(crate) fn note_transformer(resource: &mut Resource, by: &Provenance) {
    if resource.annotation(notes::ORIGIN).is_none() {
        resource.set_annotation(notes::ORIGIN, &by.to_yaml(""));
        return;
    }
    let mut all = resource
        .annotation(notes::TRANSFORMATIONS)
        .unwrap_or_default()
        .to_owned();
    all.push_str("- ");
    all.push_str(&by.to_yaml("  "));
    resource.set_annotation(notes::TRANSFORMATIONS, &all);
}

/// Where a path leads that a kustomization file in `directory` names, both as seen from the directory of the build.
pub(crate) fn joined(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

/// A string as YAML: plain where that says the same.
fn quoted_if_needed(text: &str) -> String {
    let is_plain = Scalar::plain(text).tag == Tag::Str
        && !text.starts_with(|first: char| first.is_whitespace() || "-?:,[]{}#&*!|>'\"%@`".contains(first))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #");
    if is_plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_as_seen_from_the_start() {
        assert_eq!(joined("", "base"), "base");
        assert_eq!(joined("overlay", "../base/web.yaml"), "base/web.yaml");
        assert_eq!(joined("", "../base"), "../base");
        assert_eq!(joined("../base", "../other"), "../other");
        assert_eq!(joined("", "."), ".");
    }

    #[test]
    fn provenance_as_yaml() {
        let by = Provenance::of_builtin("kustomization.yaml".to_owned(), "PrefixTransformer");
        assert_eq!(
            by.to_yaml("  "),
            "configuredIn: kustomization.yaml\n  configuredBy:\n    apiVersion: builtin\n    kind: PrefixTransformer\n"
        );
        assert_eq!(
            Provenance::of_file("a/b.yaml".to_owned()).to_yaml(""),
            "path: a/b.yaml\n"
        );
    }
}
