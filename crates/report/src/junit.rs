//! The report as JUnit XML: a suite per cluster, a case per rule and per tier, so that a run without findings shows what
//! was looked at.
//!
//! A case fails if the report's exit status comes from it: a finding at or above the threshold, a tier that did not come
//! up, a verdict that means failure. Findings below the threshold stand in the output of a case that passes. There are no
//! times: those of a rehearsal are virtual, and a report is the same whenever it is made.

use std::fmt::Write as _;

use firstpass_diagnostics::{ClusterReport, Finding, Report, Severity, Tier, TierState};

use crate::clean::clean;
use crate::context::Context;
use crate::headline;
use crate::timeline;
use crate::xml::Element;
use firstpass_diagnostics::duration_text;

/// The report as a JUnit document.
pub fn to_junit(report: &Report, context: Context<'_>) -> String {
    let name = format!("firstpass {}", report.command);
    let suites = report
        .clusters
        .iter()
        .map(|cluster| suite_of(&report.command, cluster, context));
    document(&name, &suites.collect::<Vec<_>>())
}

/// One named test and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    /// What is worth knowing although nothing failed.
    pub(crate) output: String,
}

/// What came of a test.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Passed,
    Failed {
        message: String,
        kind: String,
        text: String,
    },
    Skipped {
        reason: String,
    },
}

/// A suite of cases.
#[derive(Clone, Debug)]
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) properties: Vec<(&'static str, String)>,
    pub(crate) cases: Vec<Case>,
}

/// A document of suites.
pub(crate) fn document(name: &str, suites: &[Suite]) -> String {
    let count = |of: fn(&Outcome) -> bool| {
        let cases = suites.iter().flat_map(|suite| &suite.cases);
        cases.filter(|case| of(&case.outcome)).count()
    };
    let root = Element::new("testsuites")
        .with("name", name)
        .with("tests", count(|_| true))
        .with("failures", count(is_failed))
        .with("errors", 0);
    root.with_children(suites.iter().map(suite_element))
        .into_document()
}

fn suite_element(suite: &Suite) -> Element {
    let count = |of: fn(&Outcome) -> bool| suite.cases.iter().filter(|case| of(&case.outcome)).count();
    let mut element = Element::new("testsuite")
        .with("name", clean(&suite.name))
        .with("tests", suite.cases.len())
        .with("failures", count(is_failed))
        .with("errors", 0)
        .with(
            "skipped",
            count(|outcome| matches!(outcome, Outcome::Skipped { .. })),
        );
    if !suite.properties.is_empty() {
        let properties = suite.properties.iter().map(|(name, value)| {
            Element::new("property")
                .with("name", name)
                .with("value", clean(value))
        });
        element = element.with_children([Element::new("properties").with_children(properties)]);
    }
    element.with_children(suite.cases.iter().map(case_element))
}

fn case_element(case: &Case) -> Element {
    let mut element = Element::new("testcase")
        .with("name", clean(&case.name))
        .with("classname", clean(&case.class));
    match &case.outcome {
        Outcome::Passed => {}
        Outcome::Failed { message, kind, text } => {
            let failure = Element::new("failure")
                .with("message", clean(message))
                .with("type", clean(kind));
            element = element.with_children([failure.with_text(clean(text))]);
        }
        Outcome::Skipped { reason } => {
            element = element.with_children([Element::new("skipped").with("message", clean(reason))]);
        }
    }
    if !case.output.is_empty() {
        element = element.with_children([Element::new("system-out").with_text(clean(&case.output))]);
    }
    element
}

fn is_failed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { .. })
}

/// The suite of one cluster: its verdict, its tiers, then the rules.
pub(crate) fn suite_of(command: &str, cluster: &ClusterReport, context: Context<'_>) -> Suite {
    let entry = headline::entry(cluster);
    let mut cases = vec![verdict(cluster, context)];
    cases.extend(cluster.tiers.iter().map(|tier| tier_case(cluster, tier, context)));
    cases.extend(rules(cluster, context));
    let baseline = &cluster.baseline;
    let mut properties = vec![("verdict", cluster.verdict.to_string())];
    for (name, value) in [
        ("distribution", &baseline.distribution),
        ("kubernetes", &baseline.kubernetes),
        ("flux", &baseline.flux),
    ] {
        if !value.is_empty() {
            properties.push((name, value.clone()));
        }
    }
    if command != "check" {
        properties.push(("seed", cluster.seed.to_string()));
        properties.push(("schedules", cluster.schedules.to_string()));
    }
    for case in &mut cases {
        case.class = format!("{entry}.{}", case.class);
    }
    Suite {
        name: entry.to_owned(),
        properties,
        cases,
    }
}

fn verdict(cluster: &ClusterReport, context: Context<'_>) -> Case {
    let said = format!("{}, {}", cluster.verdict, headline::consequence(cluster));
    let failed = cluster.verdict.is_failure() && context.threshold.is_some();
    let outcome = if failed {
        Outcome::Failed {
            message: said.clone(),
            kind: cluster.verdict.to_string(),
            text: said.clone(),
        }
    } else {
        Outcome::Passed
    };
    Case {
        class: "verdict".to_owned(),
        name: "comes up".to_owned(),
        output: if failed { String::new() } else { said },
        outcome,
    }
}

fn tier_case(cluster: &ClusterReport, tier: &Tier, context: Context<'_>) -> Case {
    let waits: Vec<String> = tier.waiting_on.iter().map(timeline::wait).collect();
    let line = way_up(tier, &waits);
    let outcome = match tier.state {
        TierState::Waiting | TierState::Failed
            if cluster.verdict.is_failure() && context.threshold.is_some() =>
        {
            Outcome::Failed {
                message: match waits.as_slice() {
                    [] => format!("{} is never Ready", tier.name),
                    waits => format!("{} is never Ready: it waits for {}", tier.name, waits.join(", ")),
                },
                kind: "tier-not-ready".to_owned(),
                text: line.clone(),
            }
        }
        TierState::Suspended => Outcome::Skipped {
            reason: "suspended".to_owned(),
        },
        TierState::Unrendered => Outcome::Skipped {
            reason: "its contents could not be seen".to_owned(),
        },
        TierState::Removed => Outcome::Skipped {
            reason: "it is no longer there".to_owned(),
        },
        TierState::Ready | TierState::Waiting | TierState::Failed => Outcome::Passed,
    };
    Case {
        class: "tiers".to_owned(),
        name: tier.name.to_string(),
        output: if is_failed(&outcome) { String::new() } else { line },
        outcome,
    }
}

/// When it was applied and Ready, in virtual time, and what it waited for.
fn way_up(tier: &Tier, waits: &[String]) -> String {
    let time = |at_s: Option<f64>| at_s.map_or_else(|| "never".to_owned(), duration_text);
    let mut text = format!(
        "applied: {}, Ready: {}, attempts: {}, failed: {}",
        time(tier.applied_at_s),
        time(tier.ready_at_s),
        tier.attempts,
        tier.failed_attempts
    );
    if !waits.is_empty() {
        let _ = write!(text, ", waited for: {}", waits.join(", "));
    }
    text
}

/// A case for each rule that was looked at, and for rules of findings that nobody listed.
fn rules(cluster: &ClusterReport, context: Context<'_>) -> Vec<Case> {
    let mut names: Vec<&str> = context.rules.iter().map(|rule| rule.name).collect();
    for finding in &cluster.findings {
        if !names.contains(&finding.rule.as_str()) {
            names.push(&finding.rule);
        }
    }
    names
        .into_iter()
        .map(|name| rule_case(cluster, name, context))
        .collect()
}

fn rule_case(cluster: &ClusterReport, name: &str, context: Context<'_>) -> Case {
    let fails = |finding: &&Finding| {
        context
            .threshold
            .is_some_and(|threshold| finding.severity >= threshold)
    };
    let of_rule = || {
        cluster
            .findings
            .iter()
            .filter(move |finding| finding.rule == name)
    };
    let failing: Vec<&Finding> = of_rule().filter(fails).collect();
    let others: Vec<&Finding> = of_rule()
        .filter(|finding| !fails(finding))
        .filter(|finding| context.verbose || finding.severity > Severity::Info)
        .collect();
    let outcome = match failing.as_slice() {
        [] => Outcome::Passed,
        [first, rest @ ..] => Outcome::Failed {
            message: match rest.len() {
                0 => first.message.clone(),
                more => format!("{} (and {more} more)", first.message),
            },
            kind: first.severity.to_string(),
            text: paragraphs(&failing),
        },
    };
    let mut output = paragraphs(&others);
    for suppressed in cluster.suppressed.iter().filter(|it| it.finding.rule == name) {
        let _ = writeln!(
            output,
            "suppressed: {} ({})",
            suppressed.finding.message, suppressed.reason
        );
    }
    Case {
        class: "rules".to_owned(),
        name: name.to_owned(),
        outcome,
        output,
    }
}

/// Findings in full, without the lines of the files.
pub(crate) fn paragraphs(findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        if !text.is_empty() {
            text.push('\n');
        }
        let tier = finding
            .tier
            .as_ref()
            .map_or_else(String::new, |tier| format!("{tier}: "));
        let _ = writeln!(text, "{}: {tier}{}", finding.severity, finding.message);
        if let Some(location) = &finding.location {
            let _ = writeln!(
                text,
                "  at {}:{}:{}",
                location.file, location.line, location.column
            );
        }
        for (name, part) in [("why", &finding.why), ("help", &finding.help)] {
            if !part.is_empty() {
                let _ = writeln!(text, "  {name}: {}", part.replace('\n', "\n    "));
            }
        }
    }
    text
}
