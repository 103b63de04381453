//! The report with a line per finding, for editors, `grep`, and people who know the rules.

use std::fmt::Write as _;

use firstpass_diagnostics::{Finding, Report, Severity};

use crate::clean::clean;
use crate::headline;
use crate::text::{Paint, Style};

/// The report as lines: per cluster its verdict, then `file:line:column: severity[rule] tier: headline`, sorted by severity.
pub fn to_concise(report: &Report, style: Style) -> String {
    let mut text = String::new();
    for cluster in &report.clusters {
        let _ = writeln!(text, "{}", headline::of(cluster, style));
        let shown = cluster
            .findings
            .iter()
            .filter(|finding| style.verbose || finding.severity > Severity::Info);
        for finding in shown {
            let _ = writeln!(text, "{}", line(finding, style));
        }
    }
    text
}

fn line(finding: &Finding, style: Style) -> String {
    let place = match &finding.location {
        Some(location) if location.line > 0 => {
            format!("{}:{}:{}: ", location.file, location.line, location.column.max(1))
        }
        Some(location) => format!("{}: ", location.file),
        None => String::new(),
    };
    let paint = match finding.severity {
        Severity::Error => Paint::Bad,
        Severity::Warning => Paint::Warn,
        Severity::Info => Paint::Dim,
    };
    let severity = style.paint(paint, &finding.severity.to_string());
    // A headline that begins with the tier need not be introduced by it.
    let tier = finding.tier.as_ref().map(ToString::to_string);
    let tier = tier.filter(|tier| !finding.message.starts_with(&format!("`{tier}`")));
    let tier = tier.map_or_else(String::new, |tier| format!("{tier}: "));
    format!(
        "{}{severity}[{}] {}",
        one_line(&place),
        finding.rule,
        one_line(&format!("{tier}{}", finding.message))
    )
}

/// Text without line breaks, which would begin another finding.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in clean(text).split_inclusive(['\n', '\t']) {
        line.push_str(part.trim_end_matches(['\n', '\t']));
        if part.ends_with(['\n', '\t']) {
            line.push(' ');
        }
    }
    line
}
