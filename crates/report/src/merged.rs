//! A finding in a file that several clusters share is one finding for whoever looks at files: code hosts and reviewers.

use firstpass_diagnostics::{Finding, Location, Report, Severity};
use firstpass_object::TierName;

/// A finding and the clusters that have it.
#[derive(Clone, Debug)]
pub(crate) struct Merged<'r> {
    pub(crate) finding: &'r Finding,
    /// Entries in the order of the report; never empty.
    pub(crate) clusters: Vec<&'r str>,
}

/// What makes findings of two clusters the same.
type Key<'r> = (
    &'r str,
    Severity,
    Option<&'r TierName>,
    Option<&'r str>,
    Option<&'r Location>,
    &'r str,
);

/// The findings of all clusters, most severe first.
pub(crate) fn findings(report: &Report) -> Vec<Merged<'_>> {
    let all = report.clusters.iter().flat_map(|cluster| {
        cluster
            .findings
            .iter()
            .map(|finding| (cluster.entry.as_str(), finding))
    });
    let mut merged = merge(all);
    merged.sort_by_key(|merged| std::cmp::Reverse(merged.finding.severity));
    merged
}

/// Brings the same findings together, in the order in which each comes first.
pub(crate) fn merge<'r>(all: impl IntoIterator<Item = (&'r str, &'r Finding)>) -> Vec<Merged<'r>> {
    let mut merged: Vec<Merged<'r>> = Vec::new();
    let mut index: std::collections::BTreeMap<Key<'r>, usize> = std::collections::BTreeMap::new();
    for (cluster, finding) in all {
        match index.get(&key(finding)) {
            Some(known) => {
                let clusters = &mut merged[*known].clusters;
                if !clusters.contains(&cluster) {
                    clusters.push(cluster);
                }
            }
            None => {
                index.insert(key(finding), merged.len());
                merged.push(Merged {
                    finding,
                    clusters: vec![cluster],
                });
            }
        }
    }
    merged
}

fn key(finding: &Finding) -> Key<'_> {
    (
        &finding.rule,
        finding.severity,
        finding.tier.as_ref(),
        finding.object.as_deref(),
        finding.location.as_ref(),
        &finding.message,
    )
}
