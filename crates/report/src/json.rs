//! The report as JSON.

use firstpass_diagnostics::Report;

/// The report as indented JSON, with a newline at the end.
///
/// # Panics
/// Never: every part of a report can be written as JSON.
pub fn to_json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report holds nothing that JSON cannot");
    text.push('\n');
    text
}
