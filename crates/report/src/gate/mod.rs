//! How the result of `firstpass gate` looks: named tests, the requirements that they hold, and the findings behind them.

mod junit;
mod text;

use firstpass_diagnostics::{ClusterReport, Report};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::headline;

pub use junit::gate_to_junit;
pub use text::{gate_to_concise, gate_to_github, gate_to_markdown, gate_to_text};

/// Everything that a gate has found out.
#[derive(Clone, Debug)]
pub struct Gate {
    /// What the files alone say, one report per cluster.
    pub checks: Vec<ClusterReport>,
    /// The rehearsals of the same clusters; their findings hold those of the checks.
    pub rehearsals: Report,
    /// The tests in the order in which they ran.
    pub tests: Vec<GateTest>,
    /// What the tests hold; empty without a mapping.
    pub requirements: Vec<HeldRequirement>,
}

/// One named test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateTest {
    /// `static`, `rehearsal`, `transition`, or `story/NAME`.
    pub name: String,
    /// The cluster entry.
    pub cluster: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The same in words, or why it did not run.
    pub said: String,
}

/// What came of a test, or of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It ran and is as it should be.
    Passed,
    /// It did not run: nothing is known.
    Skipped,
    /// It ran and is not as it should be.
    Failed,
}

/// A requirement and the tests that hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldRequirement {
    /// Its id, such as `R-GITOPS-01`.
    pub id: String,
    /// What it says, if the mapping repeats it.
    pub says: Option<String>,
    /// The worst of its tests.
    pub outcome: Outcome,
    /// The tests by the names of the mapping, each with what came of it and where it did not pass.
    pub tests: Vec<HeldBy>,
}

/// One test of a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldBy {
    /// The name, such as `static/placeholder`.
    pub test: String,
    /// The worst over all clusters.
    pub outcome: Outcome,
    /// What is not as it should be, or why it did not run; empty if it passed.
    pub said: String,
}

impl Gate {
    /// Whether something failed.
    pub fn has_failed(&self) -> bool {
        let tests = self.tests.iter().map(|test| test.outcome);
        let requirements = self.requirements.iter().map(|requirement| requirement.outcome);
        tests
            .chain(requirements)
            .any(|outcome| outcome == Outcome::Failed)
    }

    /// `failed: 3 of 5 tests passed, 1 skipped; 12 of 14 requirements held`.
    pub(crate) fn summary(&self) -> String {
        let count =
            |outcomes: &[Outcome], which| outcomes.iter().filter(|outcome| **outcome == which).count();
        let tests: Vec<Outcome> = self.tests.iter().map(|test| test.outcome).collect();
        let mut text = format!(
            "{}: {} of {} tests passed",
            if self.has_failed() { "failed" } else { "passed" },
            count(&tests, Outcome::Passed),
            tests.len()
        );
        let skipped = count(&tests, Outcome::Skipped);
        if skipped > 0 {
            text.push_str(&format!(", {skipped} skipped"));
        }
        if !self.requirements.is_empty() {
            let held: Vec<Outcome> = self
                .requirements
                .iter()
                .map(|requirement| requirement.outcome)
                .collect();
            text.push_str(&format!(
                "; {} of {} requirements held",
                count(&held, Outcome::Passed),
                held.len()
            ));
        }
        text
    }
}

/// What a cluster came to, in words, for [`GateTest::said`].
pub fn said_of(cluster: &ClusterReport) -> String {
    format!("{}, {}", cluster.verdict, headline::consequence(cluster))
}

/// The gate as JSON (`schemas/gate.schema.json`).
///
/// # Panics
/// Never: every part of a gate can be written as JSON.
pub fn gate_to_json(gate: &Gate) -> String {
    let Report {
        schema_version,
        tool,
        clusters,
        ..
    } = &gate.rehearsals;
    let value = json!({
        "schema_version": schema_version,
        "tool": tool,
        "command": "gate",
        "passed": !gate.has_failed(),
        "tests": gate.tests,
        "requirements": gate.requirements,
        "static": gate.checks,
        "rehearsals": clusters,
    });
    let mut text = serde_json::to_string_pretty(&value).expect("a gate holds nothing that JSON cannot");
    text.push('\n');
    text
}

/// The findings of a gate as SARIF.
pub fn gate_to_sarif(gate: &Gate, context: Context<'_>) -> String {
    crate::to_sarif(&gate.rehearsals, context)
}
