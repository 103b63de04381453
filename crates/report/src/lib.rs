//! How does a report look to a person on a terminal, and to a program?
//!
//! One renderer per format, all of the same [`firstpass_diagnostics::Report`]. A renderer gets the tree as well, because
//! the line behind a finding is read when it is shown.
//!
//! Absent on purpose: deciding anything. What is in the report was found elsewhere; what is shown is all of it.

mod audit;
mod clean;
mod concise;
mod context;
mod counts;
mod coverage;
mod findings;
mod gate;
mod gates;
mod github;
mod graph;
mod group;
mod headline;
mod json;
mod junit;
mod markdown;
mod merged;
mod order;
mod sarif;
mod schedules;
mod text;
mod timeline;
mod wrap;
mod xml;

pub use audit::{ShownAudit, audit_to_json, audit_to_text};
pub use concise::to_concise;
pub use context::{Context, Places, RuleInfo};
pub use gate::{
    Gate, GateTest, HeldBy, HeldRequirement, Outcome, gate_to_concise, gate_to_github, gate_to_json,
    gate_to_junit, gate_to_markdown, gate_to_sarif, gate_to_text, said_of,
};
pub use github::to_github;
pub use graph::{
    Rehearsed, ShownGraph, graph_to_dot, graph_to_json, graph_to_mermaid, graph_to_svg, graph_to_text,
};
pub use json::to_json;
pub use junit::to_junit;
pub use markdown::to_markdown;
pub use order::{
    OrderRow, ShownCheck, ShownOrder, ShownPreApply, order_check_to_json, order_check_to_text, order_to_json,
    order_to_text, pre_apply_to_json, pre_apply_to_yaml,
};
pub use sarif::to_sarif;
pub use text::{Style, finding_to_text, to_text};
