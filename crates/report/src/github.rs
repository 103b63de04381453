//! The report as workflow commands of GitHub Actions, which become annotations beside the lines of a pull request.
//!
//! `::error file=…,line=…,col=…,title=…::message`; what would end a value is escaped as the runner asks for
//! (actions/toolkit, `packages/core/src/command.ts`).

use std::fmt::Write as _;

use firstpass_diagnostics::{Report, Severity};

use crate::clean::clean;
use crate::context::Context;
use crate::counts::counted;
use crate::findings::{LISTED_MAX, listed};
use crate::group::{self, Group};
use crate::headline;
use crate::merged::{self, Merged};
use crate::text::Style;

/// Annotations of one severity that GitHub shows for a step; it drops the others without a word.
const SHOWN_PER_STEP: usize = 10;

/// Characters of a title; GitHub allows 255.
const TITLE_CHARS_MAX: usize = 240;

/// Bytes of a message before escaping; GitHub allows 64 KiB.
const MESSAGE_BYTES_MAX: usize = 16_000;

/// One command per cause, the most severe first, then a line per cluster for the log.
pub fn to_github(report: &Report, context: Context<'_>) -> String {
    let mut text = String::new();
    let all = merged::findings(report);
    let shown: Vec<&Merged<'_>> = all
        .iter()
        .filter(|merged| context.verbose || merged.finding.severity > Severity::Info)
        .collect();
    let groups = group::by_cause(shown.iter().map(|merged| merged.finding));
    for group in &groups {
        let clusters = match report.clusters.len() {
            0 | 1 => Vec::new(),
            _ => merged::clusters_of(group, &shown),
        };
        let _ = writeln!(text, "{}", command(group, &clusters, context));
    }
    for cluster in &report.clusters {
        let line = headline::of(cluster, Style::plain());
        // Text of a repository must not begin a command of its own.
        let _ = writeln!(text, "firstpass {}: {}", report.command, disarmed(&line));
    }
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let count = groups
            .iter()
            .filter(|group| group.first.severity == severity)
            .count();
        if count > SHOWN_PER_STEP {
            let _ = writeln!(
                text,
                "firstpass {}: {} of severity {severity}; GitHub shows the first {SHOWN_PER_STEP} of them as annotations",
                report.command,
                counted(count, "cause")
            );
        }
    }
    text
}

/// An error that has no place in a file.
pub(crate) fn error(title: &str, message: &str) -> String {
    let title = escape_property(&clean(&cut(title, TITLE_CHARS_MAX)));
    format!("::error title={title}::{}\n", escape_data(&clean(message)))
}

fn command(group: &Group<'_>, clusters: &[&str], context: Context<'_>) -> String {
    let finding = group.first;
    let name = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut properties = Vec::new();
    if let Some(location) = &finding.location {
        properties.push(("file", context.in_checkout(&location.file)));
        if location.line > 0 {
            properties.push(("line", location.line.to_string()));
            properties.push(("col", location.column.max(1).to_string()));
        }
    }
    let title = match &finding.tier {
        Some(tier) => format!("{} in {tier}", finding.rule),
        None => finding.rule.clone(),
    };
    properties.push(("title", cut(&title, TITLE_CHARS_MAX)));
    let properties: Vec<String> = properties
        .iter()
        .map(|(key, value)| format!("{key}={}", escape_property(&clean(value))))
        .collect();
    format!(
        "::{name} {}::{}",
        properties.join(","),
        escape_data(&message(group, clusters))
    )
}

/// The headline, and what to know and to do about it.
fn message(group: &Group<'_>, clusters: &[&str]) -> String {
    let finding = group.first;
    let mut message = clean(&finding.message).into_owned();
    if !clusters.is_empty() {
        let _ = write!(message, "\nclusters: {}", clean(&clusters.join(", ")));
    }
    let elsewhere = group.elsewhere();
    if !elsewhere.is_empty() {
        let _ = write!(message, "\nalso: {}", clean(&listed(&elsewhere, LISTED_MAX)));
    }
    for (name, part) in [("why", &finding.why), ("help", &finding.help)] {
        if !part.is_empty() {
            let _ = write!(message, "\n{name}: {}", clean(part));
        }
    }
    let mut end = MESSAGE_BYTES_MAX.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    if end < message.len() {
        message.truncate(end);
        message.push_str(" …");
    }
    message
}

fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A line of the log that no runner takes for a command: those begin with `::`, or hold `##[` anywhere.
fn disarmed(line: &str) -> String {
    line.replace("##[", "## [").replace(['\n', '\r'], " ")
}
