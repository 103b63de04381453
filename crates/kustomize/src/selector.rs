//! Selecting resources: by regular expressions over their ids, and by labels.

mod labels;

use firstpass_yaml::Node;
use regex::Regex;

use crate::Error;
use crate::file::Selector;
use crate::resid::{Gvk, ResId};

pub use labels::matches_labels;

/// A selector with its regular expressions ready. They have to match a part of an id as a whole; an empty one matches
/// anything.
#[derive(Clone, Debug)]
pub struct SelectorRegex {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
}

impl SelectorRegex {
    /// Reads the regular expressions of a selector.
    pub fn new(selector: &Selector) -> Result<SelectorRegex, Error> {
        let ResId { gvk, name, namespace } = &selector.id;
        Ok(SelectorRegex {
            group: anchored(&gvk.group)?,
            version: anchored(&gvk.version)?,
            kind: anchored(&gvk.kind)?,
            name: anchored(name)?,
            namespace: anchored(namespace)?,
        })
    }

    /// Whether group, version and kind match.
    pub fn matches_gvk(&self, gvk: &Gvk) -> bool {
        matches(self.group.as_ref(), &gvk.group)
            && matches(self.version.as_ref(), &gvk.version)
            && matches(self.kind.as_ref(), &gvk.kind)
    }

    /// Whether the name matches.
    pub fn matches_name(&self, name: &str) -> bool {
        matches(self.name.as_ref(), name)
    }

    /// Whether the namespace matches.
    pub fn matches_namespace(&self, namespace: &str) -> bool {
        matches(self.namespace.as_ref(), namespace)
    }

    /// Whether the whole id matches.
    pub fn matches(&self, id: &ResId) -> bool {
        self.matches_gvk(&id.gvk) && self.matches_name(&id.name) && self.matches_namespace(&id.namespace)
    }
}

/// Whether the label and annotation selectors match a resource.
pub fn matches_metadata(selector: &Selector, resource: &Node) -> Result<bool, Error> {
    let annotations = resource.at(&["metadata", "annotations"]);
    let labels = resource.at(&["metadata", "labels"]);
    // Both are read, so that a mistake in either shows.
    let by_annotations = matches_labels(&selector.annotation_selector, annotations)?;
    let by_labels = matches_labels(&selector.label_selector, labels)?;
    Ok(by_annotations && by_labels)
}

fn matches(regex: Option<&Regex>, text: &str) -> bool {
    regex.is_none_or(|regex| regex.is_match(text))
}

fn anchored(pattern: &str) -> Result<Option<Regex>, Error> {
    if pattern.is_empty() {
        return Ok(None);
    }
    // Compiled alone first: a pattern such as `a)(b` is only right within the brackets.
    compile(pattern)?;
    compile(&format!("^(?:{pattern})$")).map(Some)
}

pub(crate) fn compile(pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern).map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default().trim();
        Error::new(format!("`{pattern}` is no regular expression: {last}"))
            .help("escape what is meant literally with `\\`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regexes(name: &str, kind: &str) -> SelectorRegex {
        SelectorRegex::new(&Selector {
            id: ResId {
                gvk: Gvk::from_api_version("", kind),
                name: name.to_owned(),
                namespace: String::new(),
            },
            ..Selector::default()
        })
        .unwrap()
    }

    #[test]
    fn expressions_match_as_a_whole() {
        assert!(regexes("app", "").matches_name("app"));
        assert!(!regexes("app", "").matches_name("app-1"));
        assert!(regexes("app.*", "").matches_name("app-1"));
        assert!(regexes("a|b", "").matches_name("b"));
        assert!(!regexes("a|b", "").matches_name("ab"));
        assert!(regexes("", "Deploy.*").matches_gvk(&Gvk::from_api_version("apps/v1", "Deployment")));
        assert!(regexes("", "").matches_namespace("anything"));
    }

    #[test]
    fn expressions_that_are_none() {
        for pattern in ["(", "*", "a)(b"] {
            let selector = Selector {
                id: ResId {
                    name: pattern.to_owned(),
                    ..ResId::default()
                },
                ..Selector::default()
            };
            assert!(SelectorRegex::new(&selector).is_err(), "{pattern}");
        }
    }
}
