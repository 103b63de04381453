//! Which rules does the repository break? One file and one page per rule.
//!
//! ```text
//! RenderedCluster ─┐
//! OrderGraph ──────┼─► RULES ──► Finding*
//! Stage, Knowledge ┘
//! ```
//!
//! A rule looks at what others have rendered and ordered; it fetches nothing, and the order in which rules run makes no
//! difference. [`RULES`] is the one list of them: name, summary, level, verdict, page and check. The page of a rule
//! (`docs/rules/NAME.md`) holds a bad and a good example, small repositories that the tests run.
//!
//! [`Suppressions`] take findings out of account that somebody has accepted, and tell of suppressions that are wrong.
//!
//! Absent on purpose: the verdict of a cluster (`diagnostics` draws it from the findings), levels by configuration, time.

mod coverage;
mod expression;
mod fleet;
mod input;
mod invariants;
mod needs;
mod pods;
mod registry;
mod repair;
mod rules;
mod shell;
mod suppress;
mod texts;
mod uses;
mod validation;
mod variables;
mod virt;
mod wording;

pub use coverage::coverage;
pub use fleet::Fleet;
pub use input::CheckInput;
pub(crate) use input::Context;
pub use registry::{RULES, Rule, Status, rule};
pub use suppress::{Looked, Suppressions};

use firstpass_diagnostics::Finding;

/// Every finding that the rules have about a cluster, in the order of [`RULES`].
pub fn check(input: &CheckInput<'_>) -> Vec<Finding> {
    let context = Context::new(*input);
    RULES.iter().flat_map(|rule| (rule.check)(&context)).collect()
}
