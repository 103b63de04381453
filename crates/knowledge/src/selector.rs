//! How data files name kinds: `group/Kind`, `group/*`, `*.suffix/*`; the core group is written `core`.

use serde::Deserialize;

/// Names one kind, all kinds of a group, or all kinds of the groups with a suffix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct KindSelector {
    group: GroupPattern,
    kind: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupPattern {
    Exact(String),
    Suffix(String),
}

impl KindSelector {
    /// Does it name this kind?
    pub fn matches(&self, group: &str, kind: &str) -> bool {
        self.matches_group(group) && self.kind.as_deref().is_none_or(|wanted| wanted == kind)
    }

    /// Does it name kinds of this group?
    pub fn matches_group(&self, group: &str) -> bool {
        match &self.group {
            GroupPattern::Exact(wanted) => wanted == group,
            GroupPattern::Suffix(suffix) => group
                .strip_suffix(suffix.as_str())
                .is_some_and(|head| !head.is_empty()),
        }
    }

    /// The group, unless it is a pattern.
    pub fn group(&self) -> Option<&str> {
        match &self.group {
            GroupPattern::Exact(group) => Some(group),
            GroupPattern::Suffix(_) => None,
        }
    }

    /// The kind, unless all kinds of the group are meant.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }
}

impl TryFrom<String> for KindSelector {
    type Error = String;

    fn try_from(text: String) -> Result<KindSelector, String> {
        let (group, kind) = text
            .rsplit_once('/')
            .filter(|(group, kind)| !group.is_empty() && !kind.is_empty())
            .ok_or_else(|| {
                format!("`{text}` does not name a kind: write `group/Kind`, `group/*` or `core/Kind`")
            })?;
        let group = match group.strip_prefix('*') {
            Some(suffix) => GroupPattern::Suffix(suffix.to_owned()),
            None if group == "core" => GroupPattern::Exact(String::new()),
            None => GroupPattern::Exact(group.to_owned()),
        };
        Ok(KindSelector {
            group,
            kind: (kind != "*").then(|| kind.to_owned()),
        })
    }
}

impl std::fmt::Display for KindSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.group {
            GroupPattern::Exact(group) if group.is_empty() => f.write_str("core")?,
            GroupPattern::Exact(group) => f.write_str(group)?,
            GroupPattern::Suffix(suffix) => write!(f, "*{suffix}")?,
        }
        write!(f, "/{}", self.kind.as_deref().unwrap_or("*"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> KindSelector {
        KindSelector::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn names_kinds_groups_and_suffixes() {
        assert!(selector("cdi.kubevirt.io/CDI").matches("cdi.kubevirt.io", "CDI"));
        assert!(!selector("cdi.kubevirt.io/CDI").matches("cdi.kubevirt.io", "DataVolume"));
        assert!(selector("cilium.io/*").matches("cilium.io", "CiliumNode"));
        assert!(selector("*.upbound.io/*").matches("s3.aws.upbound.io", "Bucket"));
        assert!(!selector("*.upbound.io/*").matches(".upbound.io", "Bucket"));
        assert!(selector("core/Pod").matches("", "Pod"));
    }

    #[test]
    fn reads_back_what_it_writes() {
        for text in ["cdi.kubevirt.io/CDI", "cilium.io/*", "*.upbound.io/*", "core/Pod"] {
            assert_eq!(selector(text).to_string(), text);
        }
        for text in ["Pod", "/Pod", "apps/", ""] {
            assert!(KindSelector::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
