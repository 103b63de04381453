//! The orders in which kustomize puts kinds and resources.

use std::cmp::Ordering;

use crate::Error;
use crate::file::{LegacySortOptions, SortOptions};
use crate::resid::Gvk;
use crate::resmap::ResMap;
use crate::resource::Identity;

/// Kinds that come first in the legacy order, because others need them.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that come last in the legacy order, because they get in the way of others.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Compares kinds as kustomize sorts its own configuration.
pub(crate) fn by_kind(a: &Gvk, b: &Gvk) -> Ordering {
    default_rank(&a.kind)
        .cmp(&default_rank(&b.kind))
        .then_with(|| sort_text(a).cmp(&sort_text(b)))
}

/// Sorts the resources as `sortOptions` asks.
pub(crate) fn apply(options: &SortOptions, resources: &mut ResMap) -> Result<(), Error> {
    match (options.order.as_str(), &options.legacy) {
        ("legacy", None) => legacy(resources, default_rank),
        ("legacy", Some(kinds)) => legacy(resources, |kind| own_rank(kinds, kind)),
        ("fifo", None) => {}
        ("fifo", Some(_)) => {
            return Err(Error::new(
                "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'",
            )
            .help("remove `legacySortOptions`, or set `order: legacy`"));
        }
        _ => {
            return Err(
                Error::new("the field 'sortOptions.order' must be one of [fifo, legacy]")
                    .help("set `order: legacy`"),
            );
        }
    }
    Ok(())
}

/// Sorts the resources in the legacy order, as the command line does if nothing else is asked.
pub(crate) fn apply_legacy(resources: &mut ResMap) {
    legacy(resources, default_rank);
}

fn legacy(resources: &mut ResMap, rank: impl Fn(&str) -> isize) {
    resources.sort_by_cached_key(|resource| {
        let id = resource.current_id();
        SortKey {
            rank: rank(&id.id.gvk.kind),
            kind: sort_text(&id.id.gvk),
            reversed: id.id.gvk.kind == "Namespace",
            id: id_text(id),
            core: id.id.gvk.group.is_empty(),
        }
    });
}

#[derive(PartialEq, Eq)]
struct SortKey {
    rank: isize,
    kind: String,
    /// Namespaces of the core group come after those of other groups, against the order of the alphabet.
    reversed: bool,
    core: bool,
    id: String,
}

impl Ord for SortKey {
    fn cmp(&self, other: &SortKey) -> Ordering {
        let by_kind = self.kind.cmp(&other.kind);
        let reversed = self.reversed && other.reversed && (self.core || other.core);
        self.rank
            .cmp(&other.rank)
            .then(if reversed { by_kind.reverse() } else { by_kind })
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &SortKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn default_rank(kind: &str) -> isize {
    rank(&FIRST, &LAST, kind)
}

fn own_rank(kinds: &LegacySortOptions, kind: &str) -> isize {
    rank(&kinds.order_first, &kinds.order_last, kind)
}

/// Below zero for kinds that come first, above for those that come last. Of a kind that is named twice the last entry
/// counts.
fn rank<S: AsRef<str>>(first: &[S], last: &[S], kind: &str) -> isize {
    let position = |kinds: &[S]| kinds.iter().rposition(|name| name.as_ref() == kind);
    match (position(last), position(first)) {
        (Some(at), _) => 1 + at.cast_signed(),
        (None, Some(at)) => at.cast_signed() - first.len().cast_signed(),
        (None, None) => 0,
    }
}

fn sort_text(gvk: &Gvk) -> String {
    let or = |text: &str, missing: &str| {
        if text.is_empty() {
            missing.to_owned()
        } else {
            text.to_owned()
        }
    };
    format!(
        "{}_{}_{}",
        or(&gvk.group, "~G"),
        or(&gvk.version, "~V"),
        or(&gvk.kind, "~K")
    )
}

fn id_text(id: &Identity) -> String {
    let or = |text: &str, missing: &str| {
        if text.is_empty() {
            missing.to_owned()
        } else {
            text.to_owned()
        }
    };
    format!("{}|{}", or(&id.id.namespace, "~X"), or(&id.id.name, "~N"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvk(group: &str, kind: &str) -> Gvk {
        Gvk {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        }
    }

    #[test]
    fn kinds_that_others_need_come_first() {
        assert_eq!(
            by_kind(&gvk("", "Namespace"), &gvk("apps", "Deployment")),
            Ordering::Less
        );
        assert_eq!(
            by_kind(&gvk("", "Thing"), &gvk("apps", "Deployment")),
            Ordering::Greater
        );
        assert_eq!(
            by_kind(&gvk("", "ValidatingWebhookConfiguration"), &gvk("", "Thing")),
            Ordering::Greater
        );
        assert_eq!(by_kind(&gvk("b", "Thing"), &gvk("a", "Thing")), Ordering::Greater);
    }

    #[test]
    fn own_order_replaces_the_default() {
        let kinds = LegacySortOptions {
            order_first: vec!["B".to_owned(), "A".to_owned()],
            order_last: vec!["Z".to_owned()],
        };
        let ranks = ["B", "A", "Namespace", "Z"].map(|kind| own_rank(&kinds, kind));
        assert_eq!(ranks, [-2, -1, 0, 1]);
    }
}
