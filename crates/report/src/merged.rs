//! A finding in a file that several clusters share is one finding for whoever looks at files: code hosts and reviewers.

use firstpass_diagnostics::{Finding, Location, Report, Severity, SuppressedFinding};
use firstpass_object::TierName;

use crate::group::Group;

/// A finding and the clusters that have it.
#[derive(Clone, Debug)]
pub(crate) struct Merged<'r> {
    pub(crate) finding: &'r Finding,
    /// Entries in the order of the report; never empty.
    pub(crate) clusters: Vec<&'r str>,
    /// Who has accepted it, if somebody has.
    pub(crate) suppression: Option<&'r SuppressedFinding>,
}

/// The clusters that have any finding of a group, each once, in the order of the report.
pub(crate) fn clusters_of<'r>(group: &Group<'_>, merged: &[&Merged<'r>]) -> Vec<&'r str> {
    let is_in = |one: &&&Merged<'_>| group.all().any(|finding| std::ptr::eq(one.finding, finding));
    let mut clusters: Vec<&str> = Vec::new();
    for cluster in merged.iter().filter(is_in).flat_map(|one| &one.clusters) {
        if !clusters.contains(cluster) {
            clusters.push(cluster);
        }
    }
    clusters
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

/// The findings of all clusters that were suppressed.
pub(crate) fn suppressed(report: &Report) -> Vec<Merged<'_>> {
    let all = || {
        let clusters = report.clusters.iter();
        clusters.flat_map(|cluster| cluster.suppressed.iter().map(|it| (cluster.entry.as_str(), it)))
    };
    let mut merged = merge(all().map(|(entry, suppressed)| (entry, &suppressed.finding)));
    for one in &mut merged {
        let mut same = all().map(|(_, suppressed)| suppressed);
        one.suppression = same.find(|suppressed| std::ptr::eq(&suppressed.finding, one.finding));
    }
    merged
}

/// Brings the same findings together, in the order in which each comes first.
fn merge<'r>(all: impl IntoIterator<Item = (&'r str, &'r Finding)>) -> Vec<Merged<'r>> {
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
                    suppression: None,
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
