//! Our own cases, `cases/` of this repository: failures that people meet, and arrangements that must not be flagged.

mod common;

use common::cases::Suite;
use common::workspace;

/// Cases on which firstpass is still wrong, with the reason. They are wrong answers, not matters of taste.
const KNOWN_GAPS: [(&str, &str); 1] = [(
    "a31-kind-of-a-chart-of-this-repository",
    "charts of the repository are not rendered yet",
)];

#[test]
fn every_case_has_its_verdict() {
    Suite {
        directory: &workspace().join("cases"),
        later_verbs: &[],
        known_gaps: &KNOWN_GAPS,
    }
    .run();
}
