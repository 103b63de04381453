//! `firstpass check`: the rules, from the files alone.

use firstpass_diagnostics::ClusterReport;
use firstpass_render::Entry;
use firstpass_report::{Places, RuleInfo};

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::prepare::{Prepared, Session};
use crate::rules;
use crate::show::{self, Shown};

/// Checks the clusters and prints what was found.
///
/// # Errors
/// If the repository cannot be read, or the result not written.
pub(crate) fn run(arguments: &CheckArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let rules = rules::of_files();
    let (clusters, places) = reports(&session, &rules);
    show::report(
        "check",
        clusters,
        &Shown {
            session: &session,
            places: &places,
            rules: &rules,
        },
        &arguments.common.output,
        arguments.fail.fail_on,
    )
}

/// What the rules say about each cluster of the session, suppressions taken into account, and where things are.
pub(crate) fn reports(session: &Session, rules: &[RuleInfo]) -> (Vec<ClusterReport>, Places) {
    let mut clusters = Vec::new();
    let mut places = Places::default();
    for entry in &session.entries {
        let prepared = session.prepare_with_coverage(entry);
        let report = report(entry, &prepared);
        show::add_places(&mut places, &report, &prepared.cluster);
        clusters.push(report);
    }
    session.suppress(&mut clusters, rules);
    (clusters, places)
}

/// What the rules say about one cluster, and the verdict that follows.
pub(crate) fn report(entry: &Entry, prepared: &Prepared) -> ClusterReport {
    let assumptions = [&prepared.cluster.assumptions, &prepared.stage.assumptions];
    let mut report = ClusterReport {
        baseline: prepared.stage.report(),
        assumptions: assumptions.into_iter().flatten().cloned().collect(),
        coverage: prepared.coverage.clone(),
        findings: prepared.findings.clone(),
        ..ClusterReport::new(entry.path())
    };
    report.conclude();
    report
}
