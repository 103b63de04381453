//! What changes when something seems to be missing and the repository does not prove it.

use firstpass_diagnostics::{Finding, Severity};

/// Only what the repository itself proves absent counts; anything else is information (DESIGN section 4).
pub(crate) fn weigh(mut finding: Finding, provable: bool) -> Finding {
    if !provable {
        finding.severity = Severity::Info;
        finding.verdict = None;
        finding.blocks.clear();
    }
    finding
}
