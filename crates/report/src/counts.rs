//! Findings counted, in words.

use firstpass_diagnostics::{Finding, Severity};

/// How many findings of each severity there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) infos: usize,
}

impl Counts {
    /// Counts findings.
    pub(crate) fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Counts {
        let mut counts = Counts::default();
        for finding in findings {
            match finding.severity {
                Severity::Error => counts.errors += 1,
                Severity::Warning => counts.warnings += 1,
                Severity::Info => counts.infos += 1,
            }
        }
        counts
    }

    /// `1 error, 2 warnings`: what is there, the worst first; nothing if nothing is.
    pub(crate) fn words(self) -> String {
        let Counts {
            errors,
            warnings,
            infos,
        } = self;
        let parts = [(errors, "error"), (warnings, "warning"), (infos, "information")];
        let words: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| counted(count, noun))
            .collect();
        words.join(", ")
    }
}

/// A number and its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
