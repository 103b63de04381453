//! The way from a tree to findings, for the tests of this crate.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;

use firstpass_baseline::{Stage, StageOptions};
use firstpass_checks::{CheckInput, Fleet, Looked, RULES, Suppressions, check};
use firstpass_diagnostics::{ClusterReport, Finding, Severity};
use firstpass_knowledge::Knowledge;
use firstpass_order::OrderGraph;
use firstpass_render::{Entry, Options, Repository, render_cluster};
use firstpass_source::{RepoPath, Tree};

/// What the rules find about a cluster entry of a tree, with its suppressions.
pub(crate) fn findings(tree: impl Tree + 'static, entry: &str) -> Vec<Finding> {
    let repository = Repository::open(Arc::new(tree)).unwrap();
    let entry = repository.entry(&RepoPath::clamped(entry)).unwrap();
    let mut report = ClusterReport::new(entry.path());
    report.findings = entry_findings(&repository, &entry);
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    let mut suppressions = Suppressions::read(&repository, names.iter().copied());
    suppressions.apply(&repository, None, &mut report);
    let looked = Looked {
        rules: &names,
        all_clusters: true,
    };
    report.findings.extend(suppressions.leftovers(looked));
    report.findings
}

/// What the rules find about a cluster entry.
pub(crate) fn entry_findings(repository: &Repository, entry: &Entry) -> Vec<Finding> {
    let cluster = render_cluster(repository, entry, &Options::default());
    let knowledge = Knowledge::builtin();
    let helmfiles = repository.helmfiles(entry);
    let options = StageOptions::default();
    let stage = Stage::set(&cluster, &**repository.tree(), &helmfiles, &knowledge, &options);
    let graph = OrderGraph::build(&cluster, &stage, &knowledge);
    let fleet = Fleet::of(repository, &Options::default());
    check(&CheckInput {
        repository,
        cluster: &cluster,
        stage: &stage,
        graph: &graph,
        knowledge: &knowledge,
        fleet: fleet.as_ref(),
    })
}

/// One finding in one line, as the pages show it.
pub(crate) fn line(finding: &Finding) -> String {
    let place = match &finding.location {
        Some(place) => format!("{}:{}:{}", place.file, place.line, place.column),
        None => "-".to_owned(),
    };
    let tier = finding.tier.as_ref().map(ToString::to_string).unwrap_or_default();
    format!(
        "{place}: {}[{}] {tier}: {}",
        finding.severity, finding.rule, finding.message
    )
}

/// Whether a finding is a warning or worse.
pub(crate) fn is_loud(finding: &Finding) -> bool {
    finding.severity >= Severity::Warning
}
