//! Showing a report in the format that was asked for, and the exit status that follows from it.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use firstpass_diagnostics::{ClusterReport, Location, Report, Severity};
use firstpass_render::RenderedCluster;
use firstpass_report::{Context, Places, RuleInfo, Style};

use crate::args::{Choice, Color, FailOn, OutputArgs, ReportFormat};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::prepare::Session;
use crate::repository as paths;

/// Width of the text where there is no terminal to ask.
const WIDTH_DEFAULT: usize = 100;

/// What is shown beside the reports.
pub(crate) struct Shown<'a> {
    pub(crate) session: &'a Session,
    /// Where the things are that findings name.
    pub(crate) places: &'a Places,
    /// The rules that were looked at.
    pub(crate) rules: &'a [RuleInfo],
}

/// Writes the reports of all clusters.
///
/// # Errors
/// If the output cannot be written.
pub(crate) fn report(
    command: &str,
    clusters: Vec<ClusterReport>,
    shown: &Shown<'_>,
    arguments: &OutputArgs<ReportFormat>,
    fail_on: FailOn,
) -> Result<Exit, Failure> {
    let exit = exit_of(&clusters, fail_on);
    let report = Report::new(command, env!("CARGO_PKG_VERSION"), clusters);
    let tree = &**shown.session.repository.tree();
    let prefix = paths::prefix_in_checkout(&shown.session.root);
    let context = Context {
        tree,
        rules: shown.rules,
        places: shown.places,
        prefix: &prefix,
        threshold: threshold(fail_on),
        verbose: arguments.verbose,
    };
    let text = match arguments.format {
        ReportFormat::Text => firstpass_report::to_text(&report, tree, style(arguments)),
        ReportFormat::Concise => firstpass_report::to_concise(&report, style(arguments)),
        ReportFormat::Json => firstpass_report::to_json(&report),
        ReportFormat::Sarif => firstpass_report::to_sarif(&report, context),
        ReportFormat::Junit => firstpass_report::to_junit(&report, context),
        ReportFormat::Github => firstpass_report::to_github(&report, context),
        ReportFormat::Markdown => firstpass_report::to_markdown(&report, context),
    };
    output::write(&text, arguments.output.as_deref())?;
    Ok(exit)
}

/// Finds out where the things are that findings name.
pub(crate) fn add_places(places: &mut Places, report: &ClusterReport, cluster: &RenderedCluster) {
    let named = report.findings.iter().flat_map(|finding| &finding.related);
    let named: BTreeSet<&str> = named.map(String::as_str).collect();
    if !named.is_empty() {
        for (_, object) in cluster.objects() {
            let name = object.id().to_string();
            if named.contains(name.as_str()) && !object.origin.file.is_empty() {
                let place = Location::new(&object.origin.file, object.origin.line.max(1), 1);
                places.insert(&report.entry, name, place);
            }
        }
    }
    for tier in &cluster.tiers {
        if let Some(place) = &tier.location {
            places.insert(&report.entry, tier.name.to_string(), place.clone());
        }
    }
}

/// How to write text for these arguments.
pub(crate) fn style<F: Choice>(arguments: &OutputArgs<F>) -> Style {
    let color = match arguments.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let choice = anstream::AutoStream::choice(&std::io::stdout());
            arguments.output.is_none()
                && std::io::stdout().is_terminal()
                && choice != anstream::ColorChoice::Never
        }
    };
    Style {
        color,
        width: WIDTH_DEFAULT,
        verbose: arguments.verbose,
    }
}

/// The exit status that follows from reports.
pub(crate) fn exit_of(clusters: &[ClusterReport], fail_on: FailOn) -> Exit {
    let Some(threshold) = threshold(fail_on) else {
        return Exit::Clean;
    };
    let fails = |cluster: &ClusterReport| cluster.verdict.is_failure() || cluster.worst() >= Some(threshold);
    if clusters.iter().any(fails) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

/// The severity from which on a finding is a failure.
pub(crate) fn threshold(fail_on: FailOn) -> Option<Severity> {
    match fail_on {
        FailOn::Never => None,
        FailOn::Error => Some(Severity::Error),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Info => Some(Severity::Info),
    }
}
