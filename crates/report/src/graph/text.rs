//! The graph for people on a terminal: the tiers layer by layer, what is not guaranteed, and what is.

mod needs;
mod table;

use std::fmt::Write as _;

use firstpass_order::Order;

use super::{ShownGraph, counted};
use crate::clean::clean;
use crate::text::{Paint, Style};

/// The graphs as text.
pub fn graph_to_text(graphs: &[ShownGraph], style: Style) -> String {
    let parts: Vec<String> = graphs.iter().map(|shown| graph(shown, style)).collect();
    parts.join("\n")
}

fn graph(shown: &ShownGraph, style: Style) -> String {
    let supplies = needs::supplies(shown);
    let mut text = format!(
        "{}\n\n{}",
        headline(shown, &supplies, style),
        table::render(shown, style)
    );
    let (kept, loose): (Vec<_>, Vec<_>) = supplies
        .iter()
        .partition(|supply| supply.order == Order::Guaranteed);
    if !loose.is_empty() {
        let _ = writeln!(text, "\n{}", style.paint(Paint::Bold, "not guaranteed:"));
        text.push_str(&needs::in_full(&loose, style));
    }
    if kept.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n{}", style.paint(Paint::Bold, "guaranteed:"));
    if style.verbose {
        text.push_str(&needs::in_full(&kept, style));
    } else {
        text.push_str(&needs::in_short(shown, style));
        let _ = writeln!(
            text,
            "  {}",
            style.paint(Paint::Dim, "-v shows each with what guarantees it")
        );
    }
    text
}

fn headline(shown: &ShownGraph, supplies: &[needs::Supply<'_>], style: Style) -> String {
    let layers = shown
        .view
        .tiers
        .iter()
        .map(|tier| tier.layer + 1)
        .max()
        .unwrap_or(0);
    let entries: Vec<&str> = shown
        .entries
        .iter()
        .map(|entry| if entry.is_empty() { "." } else { entry.as_str() })
        .collect();
    let count = |is_counted: &dyn Fn(Order) -> bool| -> usize {
        supplies
            .iter()
            .filter(|supply| is_counted(supply.order))
            .map(needs::Supply::count)
            .sum()
    };
    let (total, bad) = (count(&|_| true), count(&|order| order != Order::Guaranteed));
    let needs = match (total, bad) {
        (0, _) => "no tier needs anything of another".to_owned(),
        (1, 0) => "1 need of another tier, guaranteed".to_owned(),
        (_, 0) => format!("{total} needs of other tiers, all guaranteed"),
        _ => {
            let bad = style.paint(Paint::Bad, &format!("{bad} not guaranteed"));
            format!("{}, {bad}", counted(total, "need"))
        }
    };
    let mut text = format!(
        "{}: {} in {}, {needs}",
        style.paint(Paint::Bold, &clean(&entries.join(", "))),
        counted(shown.view.tiers.len(), "tier"),
        counted(layers, "layer"),
    );
    if let Some(rehearsed) = &shown.rehearsal {
        let _ = write!(text, "; rehearsed: {}", rehearsed.verdict);
    }
    text
}

/// Names with commas; the rest is counted.
fn listed(names: &[String], limit: usize) -> String {
    if names.len() <= limit.saturating_add(1) {
        return names.join(", ");
    }
    format!("{} and {} more", names[..limit].join(", "), names.len() - limit)
}
