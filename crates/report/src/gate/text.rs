//! A gate for people: the tests, the requirements, then the findings as each format shows them.

use std::fmt::Write as _;

use firstpass_diagnostics::{ClusterReport, Report, Severity};
use firstpass_source::Tree;

use super::{Gate, HeldBy, HeldRequirement, Outcome};
use crate::clean::clean;
use crate::context::Context;
use crate::markdown;
use crate::text::{Paint, Style};

/// The gate as text; clusters with something to say are shown in full.
pub fn gate_to_text(gate: &Gate, tree: &dyn Tree, style: Style) -> String {
    let mut text = summary(gate, style);
    let shown = Report {
        clusters: gate
            .rehearsals
            .clusters
            .iter()
            .filter(|cluster| has_something_to_say(cluster))
            .cloned()
            .collect(),
        ..gate.rehearsals.clone()
    };
    if !shown.clusters.is_empty() {
        text.push('\n');
        text.push_str(&crate::to_text(&shown, tree, style));
    }
    text
}

/// The gate with a line per test, requirement that is not held, and finding.
pub fn gate_to_concise(gate: &Gate, style: Style) -> String {
    let mut text = format!("gate {}\n", gate.summary());
    for test in gate.tests.iter().filter(|test| test.outcome == Outcome::Failed) {
        let line = format!("failed {} {}: {}", test.name, test.cluster, test.said);
        let _ = writeln!(text, "{}", clean(&line));
    }
    for requirement in gate
        .requirements
        .iter()
        .filter(|it| it.outcome == Outcome::Failed)
    {
        let _ = writeln!(
            text,
            "{}",
            clean(&format!("failed {}: {}", requirement.id, reasons(requirement)))
        );
    }
    text.push_str(&crate::to_concise(&gate.rehearsals, style));
    text
}

/// The gate as workflow commands; what failed without a finding is an error of its own.
pub fn gate_to_github(gate: &Gate, context: Context<'_>) -> String {
    let mut text = crate::to_github(&gate.rehearsals, context);
    for test in gate.tests.iter().filter(|test| test.outcome == Outcome::Failed) {
        let line = format!("{} {}: {}", test.name, test.cluster, test.said);
        text.push_str(&crate::github::error("firstpass gate", &line));
    }
    for requirement in gate
        .requirements
        .iter()
        .filter(|it| it.outcome == Outcome::Failed)
    {
        let title = format!("{} is not held", requirement.id);
        text.push_str(&crate::github::error(&title, &reasons(requirement)));
    }
    text
}

/// The gate as Markdown for a comment.
pub fn gate_to_markdown(gate: &Gate, context: Context<'_>) -> String {
    let mut head = format!("**{}**\n\n", markdown::sentence(&gate.summary()));
    for outcome in [Outcome::Failed, Outcome::Skipped] {
        for line in lines_of(gate, outcome) {
            if head.len() + line.len() > markdown::HEAD_BYTES_MAX {
                head.push_str("- and more\n");
                break;
            }
            head.push_str(&line);
        }
    }
    head.push('\n');
    markdown::with_head(&gate.rehearsals, &head, context)
}

/// List items for the tests and requirements with this outcome.
fn lines_of(gate: &Gate, outcome: Outcome) -> Vec<String> {
    let word = word(outcome);
    let tests = gate
        .tests
        .iter()
        .filter(|test| test.outcome == outcome)
        .map(|test| {
            let (name, cluster) = (markdown::code(&test.name), markdown::code(&test.cluster));
            format!("- {word}: {name} {cluster}: {}\n", markdown::sentence(&test.said))
        });
    let requirements = gate
        .requirements
        .iter()
        .filter(|it| it.outcome == outcome)
        .map(|requirement| {
            let id = markdown::code(&requirement.id);
            format!("- {word}: {id}: {}\n", markdown::sentence(&reasons(requirement)))
        });
    tests.chain(requirements).collect()
}

fn summary(gate: &Gate, style: Style) -> String {
    let paint = if gate.has_failed() {
        Paint::Bad
    } else {
        Paint::Good
    };
    let mut text = format!("gate {}\n\n", style.paint(paint, &gate.summary()));
    let width =
        |texts: &mut dyn Iterator<Item = &String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let names = width(&mut gate.tests.iter().map(|test| &test.name));
    let clusters = width(&mut gate.tests.iter().map(|test| &test.cluster));
    for test in &gate.tests {
        let line = format!("{:names$}  {:clusters$}  {}", test.name, test.cluster, test.said);
        let _ = writeln!(text, "  {} {}", mark(test.outcome, style), clean(line.trim_end()));
    }
    if gate.requirements.is_empty() {
        return text;
    }
    text.push_str("\nrequirements:\n");
    let ids = width(&mut gate.requirements.iter().map(|requirement| &requirement.id));
    for requirement in &gate.requirements {
        let said = match requirement.outcome {
            Outcome::Passed => requirement.says.clone().unwrap_or_default(),
            Outcome::Skipped | Outcome::Failed => reasons(requirement),
        };
        let line = format!("{:ids$}  {said}", requirement.id);
        let _ = writeln!(
            text,
            "  {} {}",
            mark(requirement.outcome, style),
            clean(line.trim_end())
        );
    }
    text
}

/// Why a requirement is not held: the tests that did not pass.
fn reasons(requirement: &HeldRequirement) -> String {
    let said = |held: &HeldBy| match held.said.as_str() {
        "" => held.test.clone(),
        said => format!("{}: {said}", held.test),
    };
    let reasons: Vec<String> = requirement
        .tests
        .iter()
        .filter(|held| held.outcome == requirement.outcome)
        .map(said)
        .collect();
    reasons.join("; ")
}

fn has_something_to_say(cluster: &ClusterReport) -> bool {
    cluster.worst() >= Some(Severity::Warning) || cluster.verdict.is_failure()
}

fn mark(outcome: Outcome, style: Style) -> String {
    match outcome {
        Outcome::Passed => style.paint(Paint::Good, "+"),
        Outcome::Skipped => style.paint(Paint::Warn, "?"),
        Outcome::Failed => style.paint(Paint::Bad, "x"),
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Skipped => "skipped",
        Outcome::Failed => "failed",
    }
}
