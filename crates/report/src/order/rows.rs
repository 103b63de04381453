//! The table of tiers in the order in which they come up.

use std::fmt::Write as _;

use serde::Serialize;

use firstpass_diagnostics::{Tier, Verdict};

use super::{OrderRow, ShownOrder};
use crate::clean::clean;
use crate::duration::human;
use crate::text::{Paint, Style};
use crate::timeline;

#[derive(Serialize)]
pub(super) struct Json<'a> {
    entry: &'a str,
    verdict: Verdict,
    duration_s: Option<f64>,
    order: &'a [OrderRow],
    never: &'a [Tier],
}

pub(super) fn json(shown: &ShownOrder) -> Json<'_> {
    Json {
        entry: &shown.entry,
        verdict: shown.verdict,
        duration_s: shown.duration_s,
        order: &shown.rows,
        never: &shown.others,
    }
}

pub(super) fn text(shown: &ShownOrder, style: Style) -> String {
    let entry = if shown.entry.is_empty() { "." } else { &shown.entry };
    let entry = style.paint(Paint::Bold, &clean(entry));
    let total = shown.rows.len() + shown.others.len();
    let mut text = match shown.duration_s {
        Some(duration) => format!("{entry}: {total} tiers come up in {}\n\n", human(duration)),
        None => {
            let verdict = style.paint(Paint::Bad, &shown.verdict.to_string());
            format!(
                "{entry}: {verdict}, {} of {total} tiers come up\n\n",
                shown.rows.len()
            )
        }
    };
    let names = shown
        .rows
        .iter()
        .map(|row| &row.tier)
        .chain(shown.others.iter().map(|tier| &tier.name));
    let width = names
        .map(|name| name.to_string().chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let head = format!("      {:width$}  {:>8}  after", "tier", "ready");
    let _ = writeln!(text, "{}", style.paint(Paint::Dim, &head));
    let (mut has_ties, mut has_luck, mut last) = (false, false, 0);
    for row in &shown.rows {
        let is_tie = row.place == last;
        let mark = match (is_tie, row.ordered) {
            (true, _) => "=",
            (false, false) if last > 0 => "~",
            (false, _) => " ",
        };
        has_ties |= is_tie;
        has_luck |= mark == "~";
        last = row.place;
        let after: Vec<String> = row.after.iter().map(ToString::to_string).collect();
        let line = format!(
            "{:>3} {mark} {:width$}  {:>8}  {}",
            row.place,
            row.tier.to_string(),
            human(row.ready_at_s),
            after.join(", ")
        );
        let _ = writeln!(text, "{}", clean(line.trim_end()));
    }
    for tier in &shown.others {
        let (mark, paint) = timeline::mark(tier.state);
        let waits: Vec<String> = tier.waiting_on.iter().take(3).map(timeline::wait).collect();
        let word = timeline::state_word(tier.state);
        let line = format!(
            "{:width$}  {word:>8}  {}",
            tier.name.to_string(),
            waits.join(", ")
        );
        let _ = writeln!(
            text,
            "    {} {}",
            style.paint(paint, mark),
            clean(line.trim_end())
        );
    }
    if has_ties || has_luck {
        text.push('\n');
    }
    if has_ties {
        let _ = writeln!(
            text,
            "{}",
            style.paint(
                Paint::Dim,
                "= Ready at the same moment as the one above: any order of these is right"
            )
        );
    }
    if has_luck {
        let _ = writeln!(
            text,
            "{}",
            style.paint(
                Paint::Dim,
                "~ nothing orders it after the one above: the delays of this rehearsal did"
            )
        );
    }
    text
}
