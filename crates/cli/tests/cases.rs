//! The shared cases: small repositories with a known verdict, run as their README says.

mod common;

use common::cases::Suite;

#[test]
fn every_case_has_its_verdict() {
    let Some(directory) = firstpass_testing::shared("cases") else {
        return;
    };
    Suite {
        directory: &directory,
        later_verbs: &["plan"],
        known_gaps: &[(
            "i01-namespace-made-by-a-chart-in-the-same-set",
            "charts of the repository are not rendered yet",
        )],
    }
    .run();
}
