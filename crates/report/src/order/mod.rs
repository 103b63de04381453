//! The order in which tiers come up, a list that somebody keeps of it, and what to apply by hand where it is stuck.

mod check;
mod pre_apply;
mod rows;
#[cfg(test)]
mod tests;

use firstpass_diagnostics::{Tier, Verdict};
use firstpass_object::TierName;
use firstpass_order::{HandList, ListProblem};
use firstpass_rehearse::PreApply;
use serde::Serialize;

use crate::text::Style;

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

/// The order of a cluster, to be shown.
pub struct ShownOrder {
    /// The cluster entry.
    pub entry: String,
    /// What the rehearsal came to.
    pub verdict: Verdict,
    /// Seconds until the last tier was Ready; `None` if one never is.
    pub duration_s: Option<f64>,
    /// The tiers that come up, in order.
    pub rows: Vec<OrderRow>,
    /// The tiers that do not.
    pub others: Vec<Tier>,
}

/// A tier that comes up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderRow {
    /// Its place, from 1; tiers that are Ready at the same moment share one.
    pub place: usize,
    /// The tier.
    pub tier: TierName,
    /// When it is Ready, in seconds since Flux started.
    pub ready_at_s: f64,
    /// The tiers that it depends on, else the one that creates it.
    pub after: Vec<TierName>,
    /// Whether it certainly comes after the tier in the row above; otherwise the delays of this rehearsal decided.
    pub ordered: bool,
}

/// What came of comparing a list with a cluster.
pub struct ShownCheck {
    /// The cluster entry.
    pub entry: String,
    /// The file.
    pub file: String,
    /// The list in it.
    pub list: HandList,
    /// In what the two differ.
    pub problems: Vec<ListProblem>,
}

/// What to apply by hand, to be shown.
pub struct ShownPreApply {
    /// The cluster entry.
    pub entry: String,
    /// What the cluster comes to without help.
    pub verdict: Verdict,
    /// How many tiers it has.
    pub tiers: usize,
    /// What was found.
    pub found: PreApply,
}

#[derive(Serialize)]
struct Document<T> {
    schema_version: u32,
    clusters: Vec<T>,
}

fn document<T: Serialize>(clusters: Vec<T>) -> String {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        clusters,
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Orders as text.
pub fn order_to_text(orders: &[ShownOrder], style: Style) -> String {
    orders
        .iter()
        .map(|shown| rows::text(shown, style))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Orders as one JSON document.
pub fn order_to_json(orders: &[ShownOrder]) -> String {
    document(orders.iter().map(rows::json).collect())
}

/// Comparisons as text.
pub fn order_check_to_text(checks: &[ShownCheck], style: Style) -> String {
    checks.iter().map(|shown| check::text(shown, style)).collect()
}

/// Comparisons as one JSON document.
pub fn order_check_to_json(checks: &[ShownCheck]) -> String {
    document(checks.iter().map(check::json).collect())
}

/// What to apply by hand, as YAML that `kubectl apply` reads.
pub fn pre_apply_to_yaml(shown: &[ShownPreApply]) -> String {
    shown.iter().map(pre_apply::yaml).collect()
}

/// What to apply by hand, as one JSON document.
pub fn pre_apply_to_json(shown: &[ShownPreApply]) -> String {
    document(shown.iter().map(pre_apply::json).collect())
}
