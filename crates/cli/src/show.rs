//! Showing a report in the format that was asked for, and the exit status that follows from it.

use std::io::IsTerminal;

use firstpass_diagnostics::{ClusterReport, Report, Severity};
use firstpass_report::Style;

use crate::args::{Color, FailOn, Format, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::prepare::Session;

/// Width of the text where there is no terminal to ask.
const WIDTH_DEFAULT: usize = 100;

/// Writes the reports of all clusters.
///
/// # Errors
/// If the output cannot be written.
pub(crate) fn report(
    command: &str,
    clusters: Vec<ClusterReport>,
    session: &Session,
    arguments: &OutputArgs,
    fail_on: FailOn,
) -> Result<Exit, Failure> {
    let exit = exit_of(&clusters, fail_on);
    let report = Report::new(command, env!("CARGO_PKG_VERSION"), clusters);
    let text = match arguments.format {
        Format::Text => firstpass_report::to_text(&report, &**session.repository.tree(), style(arguments)),
        Format::Json => firstpass_report::to_json(&report),
    };
    output::write(&text, arguments.output.as_deref())?;
    Ok(exit)
}

/// How to write text for these arguments.
pub(crate) fn style(arguments: &OutputArgs) -> Style {
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
    let threshold = match fail_on {
        FailOn::Never => return Exit::Clean,
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Info => Severity::Info,
    };
    let fails = |cluster: &ClusterReport| cluster.verdict.is_failure() || cluster.worst() >= Some(threshold);
    if clusters.iter().any(fails) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}
