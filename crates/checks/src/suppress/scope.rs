//! Which findings a suppression is about.

use std::collections::BTreeSet;

use firstpass_diagnostics::Finding;

/// The findings of some rules that a suppression takes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those shown at these lines of a file, both included.
    Lines { file: String, first: u32, last: u32 },
    /// Those that have everything that is given.
    Configured {
        files: Option<BTreeSet<String>>,
        tier: Option<String>,
        object: Option<String>,
        /// A cluster's entry, or its name in the configuration.
        cluster: Option<String>,
    },
}

impl Scope {
    /// Whether a finding of a cluster with these names is meant.
    pub(super) fn holds(&self, finding: &Finding, names: &[Option<&str>]) -> bool {
        let place = finding.location.as_ref();
        match self {
            Scope::Lines { file, first, last } => place
                .is_some_and(|place| place.file == *file && (*first..=*last).contains(&place.line.max(1))),
            Scope::Configured {
                files,
                tier,
                object,
                cluster,
            } => {
                let in_files =
                    |files: &BTreeSet<String>| place.is_some_and(|place| files.contains(&place.file));
                files.as_ref().is_none_or(in_files)
                    && tier
                        .as_ref()
                        .is_none_or(|tier| finding.tier.as_ref().is_some_and(|it| it.to_string() == *tier))
                    && object.as_ref().is_none_or(|object| {
                        finding.object.as_ref() == Some(object) || finding.related.contains(object)
                    })
                    && cluster.as_ref().is_none_or(|cluster| {
                        let cluster = cluster.trim_end_matches('/');
                        names.contains(&Some(cluster))
                    })
            }
        }
    }
}
