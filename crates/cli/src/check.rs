//! `firstpass check`: the rules, from the files alone.

use firstpass_diagnostics::ClusterReport;
use firstpass_report::{Places, RuleInfo};

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::prepare::Session;
use crate::show::{self, Shown};

/// Checks the clusters and prints what was found.
///
/// # Errors
/// If the repository cannot be read, or the result not written.
pub(crate) fn run(arguments: &CheckArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let rules = show::static_rules();
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
        let mut report = ClusterReport {
            baseline: prepared.stage.report(),
            assumptions: [
                prepared.cluster.assumptions.clone(),
                prepared.stage.assumptions.clone(),
            ]
            .concat(),
            coverage: prepared.coverage,
            findings: prepared.findings,
            ..ClusterReport::new(entry.path())
        };
        report.conclude();
        show::add_places(&mut places, &report, &prepared.cluster);
        clusters.push(report);
    }
    session.suppress(&mut clusters, rules);
    (clusters, places)
}
