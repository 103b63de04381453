//! The report as Markdown, for a comment on a pull request: the verdicts in a table, then what was found, folded.
//!
//! A comment has at most 65,536 characters on GitHub; what does not fit is left out from the end, the least severe
//! first, and counted. All text of the repository is disarmed (`escape`).

mod escape;

use std::fmt::Write as _;

use firstpass_diagnostics::{ClusterReport, Finding, Report, Severity, Verdict};

use self::escape::{block, bounded};
pub(crate) use self::escape::{code, sentence};
use crate::context::Context;
use crate::counts::Counts;
use crate::findings::{LISTED_MAX, notes};
use crate::group::{self, Group};
use crate::merged::{self, Merged};
use crate::text::Style;
use crate::wrap::wrap;
use crate::{headline, timeline};

/// Bytes of a report: GitHub's limit of 65,536 characters with room for what a workflow puts around it. There are never
/// more characters than bytes.
const BYTES_MAX: usize = 64_000;

/// Bytes that the table of clusters may take; what is left over is for findings.
const TABLE_BYTES_MAX: usize = 16_000;

/// Bytes of one text of a finding.
const TEXT_BYTES_MAX: usize = 4_000;

/// Bytes kept for the sentence that says what was left out.
const NOTE_BYTES: usize = 300;

/// Characters of a line in a block.
const WIDTH: usize = 100;

/// Bytes that may stand between the title and the table.
pub(crate) const HEAD_BYTES_MAX: usize = 8_000;

/// The report as Markdown.
pub fn to_markdown(report: &Report, context: Context<'_>) -> String {
    with_head(report, "", context)
}

/// The report with something of at most [`HEAD_BYTES_MAX`] bytes below its title.
pub(crate) fn with_head(report: &Report, head: &str, context: Context<'_>) -> String {
    let mut text = format!("## firstpass {}\n\n{head}", report.command);
    text.push_str(&table(&report.clusters));
    let all = merged::findings(report);
    let shown: Vec<&Merged<'_>> = all
        .iter()
        .filter(|merged| context.verbose || merged.finding.severity > Severity::Info)
        .collect();
    let several = report.clusters.len() > 1;
    let groups = group::by_cause(shown.iter().map(|merged| merged.finding));
    let mut left_out: Vec<&Finding> = Vec::new();
    for group in &groups {
        let part = findings(group, &shown, several);
        if left_out.is_empty() && text.len() + part.len() + NOTE_BYTES <= BYTES_MAX {
            text.push_str(&part);
        } else {
            left_out.extend(std::iter::once(group.first).chain(group.others.iter().copied()));
        }
    }
    if !left_out.is_empty() {
        let _ = writeln!(
            text,
            "\nLeft out, because a comment has room for 65,536 characters: {}. The text and JSON reports have all of them.",
            Counts::of(left_out.iter().copied()).words()
        );
        return text;
    }
    let hidden = all.len() - shown.len();
    if hidden > 0 {
        let _ = writeln!(text, "\n{hidden} for information are not shown.\n");
    }
    for cluster in &report.clusters {
        let part = ways_up(cluster);
        if text.len() + part.len() + NOTE_BYTES > BYTES_MAX {
            text.push_str("\nThe tables of tiers are left out for want of room.\n");
            break;
        }
        text.push_str(&part);
    }
    text
}

/// A row for each cluster, the worst first if there are too many.
fn table(clusters: &[ClusterReport]) -> String {
    let mut text = String::from("| | cluster | verdict | |\n|---|---|---|---|\n");
    let mut sorted: Vec<&ClusterReport> = clusters.iter().collect();
    let rows = |clusters: &[&ClusterReport]| clusters.iter().map(|cluster| row(cluster)).collect::<Vec<_>>();
    let mut lines = rows(&sorted);
    if lines.iter().map(String::len).sum::<usize>() > TABLE_BYTES_MAX {
        sorted.sort_by_key(|cluster| std::cmp::Reverse(cluster.verdict));
        lines = rows(&sorted);
    }
    let mut shown = 0;
    for line in &lines {
        if text.len() + line.len() > TABLE_BYTES_MAX {
            break;
        }
        text.push_str(line);
        shown += 1;
    }
    if shown < lines.len() {
        let _ = writeln!(
            text,
            "| | and {} more clusters, none worse | | |",
            lines.len() - shown
        );
    }
    text.push('\n');
    text
}

fn row(cluster: &ClusterReport) -> String {
    format!(
        "| {} | {} | **{}** | {} |\n",
        mark(cluster.verdict),
        code(&bounded(headline::entry(cluster), 200)),
        cluster.verdict,
        sentence(&headline::consequence(cluster))
    )
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Converges => ":white_check_mark:",
        Verdict::Hazard | Verdict::Undecided => ":warning:",
        Verdict::NeverReady | Verdict::Deadlock | Verdict::Invalid => ":x:",
    }
}

/// One cause, folded: the headline outside, the rest inside.
fn findings(group: &Group<'_>, merged: &[&Merged<'_>], several: bool) -> String {
    let first = group.first;
    let more = match group.others.len() {
        0 => String::new(),
        count => format!(" (and {count} more with the same cause)"),
    };
    let mut text = format!(
        "<details><summary><b>{}</b> {}: {}{more}</summary>\n\n",
        first.severity,
        code(&first.rule),
        sentence(&bounded(&first.message, TEXT_BYTES_MAX)),
    );
    if let Some(location) = &first.location {
        let place = match location.line {
            0 => location.file.clone(),
            line => format!("{}:{line}", location.file),
        };
        let _ = writeln!(text, "At {}", code(&bounded(&place, 500)));
    }
    if several {
        let clusters = merged::clusters_of(group, merged);
        let shown: Vec<String> = clusters.iter().take(10).map(|cluster| code(cluster)).collect();
        let more = match clusters.len().saturating_sub(10) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(text, "in {}{more}", shown.join(", "));
    }
    text.push('\n');
    let mut body = String::new();
    for (name, note) in notes(group, LISTED_MAX) {
        let lines = wrap(&format!("{name}: {}", bounded(&note, TEXT_BYTES_MAX)), WIDTH);
        let _ = writeln!(body, "{}", lines.join("\n  "));
    }
    text.push_str(&block(&body));
    text.push_str("</details>\n");
    text
}

/// The tiers of a rehearsal, folded.
fn ways_up(cluster: &ClusterReport) -> String {
    if cluster.tiers.is_empty() {
        return String::new();
    }
    format!(
        "<details><summary>The way up of {}</summary>\n\n{}</details>\n",
        code(&bounded(headline::entry(cluster), 200)),
        block(&timeline::render(cluster, Style::plain()))
    )
}
