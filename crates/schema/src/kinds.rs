//! The built-in kinds: scope, plural, and which minors of Kubernetes serve them.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../data/kinds.txt");

/// The minors of Kubernetes 1 that the table tells apart. What was gone before is in it too, so that messages can
/// say when.
pub const KUBERNETES_MINORS: RangeInclusive<u16> = 25..=37;

/// Sorted by group, kind and version.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let mut kinds: Vec<Kind> = TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| Kind::from_row(line).unwrap_or_else(|| panic!("kinds.txt: cannot read `{line}`")))
        .collect();
    kinds.sort_by_key(|kind| (kind.group, kind.kind, kind.version));
    kinds
});

/// Whether the objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Each object belongs to a namespace.
    Namespaced,
    /// The objects belong to the cluster.
    Cluster,
}

/// Whether an API server of some minor knows a version of a built-in kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It serves the version as it comes.
    Yes,
    /// It serves the version if it is asked to (`--runtime-config`): alpha versions, and beta versions since 1.24.
    OptIn,
    /// It comes later: the minor that brings it.
    NotYet(u16),
    /// It is gone: the last minor that had it.
    Removed(u16),
    /// The kind is not built in.
    Unknown,
}

/// One version of a built-in kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The name in URLs and RBAC rules: `deployments`.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// Whether an API server serves it only if asked to.
    pub opt_in: bool,
    /// Whether objects of the kind are questions to the API server (`TokenReview`): created, answered, never kept.
    pub is_call: bool,
    first_minor: Option<u16>,
    last_minor: Option<u16>,
}

impl Kind {
    fn from_row(row: &'static str) -> Option<Kind> {
        let mut words = row.split(' ');
        let group = words.next()?;
        let version = words.next()?;
        let kind = words.next()?;
        let plural = words.next()?;
        let scope = match words.next()? {
            "namespaced" => Scope::Namespaced,
            "cluster" => Scope::Cluster,
            _ => return None,
        };
        let (first, last) = words.next()?.split_once("..")?;
        let minor = |text: &str| match text {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        };
        let (first_minor, last_minor) = (minor(first)?, minor(last)?);
        let (mut opt_in, mut is_call) = (false, false);
        for flag in words {
            match flag {
                "opt-in" => opt_in = true,
                "call" => is_call = true,
                _ => return None,
            }
        }
        Some(Kind {
            group: if group == "-" { "" } else { group },
            version,
            kind,
            plural,
            scope,
            opt_in,
            is_call,
            first_minor,
            last_minor,
        })
    }

    /// The last minor that has this version, if its end is known.
    pub fn last_minor(&self) -> Option<u16> {
        self.last_minor
    }

    /// Whether an API server of Kubernetes 1.`minor` knows this version.
    ///
    /// Minors newer than the table are taken for its last one.
    pub fn served(&self, minor: u16) -> Served {
        let minor = minor.min(*KUBERNETES_MINORS.end());
        match (self.first_minor, self.last_minor) {
            (Some(first), _) if minor < first => Served::NotYet(first),
            (_, Some(last)) if minor > last => Served::Removed(last),
            _ if self.opt_in => Served::OptIn,
            _ => Served::Yes,
        }
    }
}

/// The version of a built-in kind, whatever minor serves it.
pub fn kind(group: &str, version: &str, kind: &str) -> Option<&'static Kind> {
    versions_of(group, kind).iter().find(|row| row.version == version)
}

/// All versions of a built-in kind, in the order of their names.
pub fn versions_of(group: &str, kind: &str) -> &'static [Kind] {
    let start = KINDS.partition_point(|row| (row.group, row.kind) < (group, kind));
    let length = KINDS[start..].partition_point(|row| (row.group, row.kind) == (group, kind));
    &KINDS[start..start + length]
}

/// Every row of the table, sorted by group, kind and version.
pub fn all() -> &'static [Kind] {
    &KINDS
}

/// The scope of a built-in kind; of a version that is unknown, the scope of any other version.
pub fn scope(group: &str, version: &str, kind_name: &str) -> Option<Scope> {
    kind(group, version, kind_name)
        .or_else(|| versions_of(group, kind_name).first())
        .map(|row| row.scope)
}

/// Whether an API server of Kubernetes 1.`minor` knows the version of a built-in kind.
pub fn served(group: &str, version: &str, kind_name: &str, minor: u16) -> Served {
    kind(group, version, kind_name).map_or(Served::Unknown, |row| row.served(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_of_well_known_kinds() {
        assert_eq!(scope("apps", "v1", "Deployment"), Some(Scope::Namespaced));
        assert_eq!(scope("", "v1", "Namespace"), Some(Scope::Cluster));
        assert_eq!(scope("", "v1", "Secret"), Some(Scope::Namespaced));
        assert_eq!(
            scope("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            Some(Scope::Cluster)
        );
        assert_eq!(scope("cert-manager.io", "v1", "Issuer"), None);
    }

    #[test]
    fn an_unknown_version_has_the_scope_of_the_kind() {
        assert_eq!(scope("apps", "v9", "Deployment"), Some(Scope::Namespaced));
    }

    #[test]
    fn versions_come_and_go() {
        let hpa = |version, minor| served("autoscaling", version, "HorizontalPodAutoscaler", minor);
        assert_eq!(hpa("v2", 25), Served::Yes);
        assert_eq!(hpa("v2beta2", 25), Served::Yes);
        assert_eq!(hpa("v2beta2", 26), Served::Removed(25));
        assert_eq!(
            served("policy", "v1beta1", "PodDisruptionBudget", 30),
            Served::Removed(24)
        );
        assert_eq!(
            served("extensions", "v1beta1", "Ingress", 25),
            Served::Removed(21)
        );
        let policy = |version, minor| {
            served(
                "admissionregistration.k8s.io",
                version,
                "ValidatingAdmissionPolicy",
                minor,
            )
        };
        assert_eq!(policy("v1", 29), Served::NotYet(30));
        assert_eq!(policy("v1", 30), Served::Yes);
        assert_eq!(policy("v1beta1", 29), Served::OptIn);
        assert_eq!(policy("v1", 99), Served::Yes);
        assert_eq!(served("example.com", "v1", "Thing", 30), Served::Unknown);
    }

    #[test]
    fn beta_versions_from_before_the_rule_are_on() {
        let flow = |version, minor| served("flowcontrol.apiserver.k8s.io", version, "FlowSchema", minor);
        assert_eq!(flow("v1beta3", 31), Served::Yes);
        assert_eq!(flow("v1beta3", 32), Served::Removed(31));
    }

    #[test]
    fn reviews_are_calls() {
        assert!(kind("authentication.k8s.io", "v1", "TokenReview").is_some_and(|row| row.is_call));
        assert!(kind("", "v1", "Pod").is_some_and(|row| !row.is_call));
    }

    #[test]
    fn versions_of_a_kind() {
        let versions: Vec<_> = versions_of("batch", "CronJob")
            .iter()
            .map(|row| row.version)
            .collect();
        assert_eq!(versions, ["v1", "v1beta1"]);
    }
}
