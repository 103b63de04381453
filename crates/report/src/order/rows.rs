//! The table of tiers in the order in which they come up. Where there are many, neighbours that come after the same tiers
//! share a row.

use std::fmt::Write as _;

use firstpass_diagnostics::{Tier, Verdict, WaitingFor, WaitingOn};
use firstpass_object::TierName;
use serde::Serialize;

use super::{OrderRow, ShownOrder};
use crate::clean::clean;
use crate::text::{Paint, Style};
use crate::timeline;
use crate::wrap::wrap;
use firstpass_diagnostics::duration_text;

/// Tiers beyond this many are gathered.
const SINGLE_ROWS_MAX: usize = 40;

/// Neighbours that are fewer than this keep rows of their own.
const GATHERED_LEAST: usize = 4;

/// Things waited for beyond this many are not listed.
const WAITS_LISTED_MAX: usize = 3;

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

/// One row of the table, of one tier or several.
struct Row<'a> {
    place: String,
    mark: String,
    tiers: Vec<&'a TierName>,
    ready: String,
    after: String,
}

pub(super) fn text(shown: &ShownOrder, style: Style) -> String {
    let total = shown.rows.len() + shown.others.len();
    let is_large = total > SINGLE_ROWS_MAX && !style.verbose;
    let mut rows = ready(shown, is_large);
    rows.extend(never(shown, is_large, style));
    let mut text = headline(shown, total, style);
    let name = |row: &Row<'_>| match row.tiers.as_slice() {
        [tier] => tier.to_string(),
        several => format!("{} tiers", several.len()),
    };
    let widest =
        |cell: &dyn Fn(&Row<'_>) -> usize, least: usize| rows.iter().map(cell).max().unwrap_or(0).max(least);
    let places = widest(&|row| row.place.chars().count(), 3);
    let names = widest(&|row| name(row).chars().count(), 4);
    let times = widest(&|row| row.ready.chars().count(), 8);
    let head = format!("{:places$}   {:names$}  {:>times$}  after", "", "tier", "ready");
    let _ = writeln!(text, "{}", style.paint(Paint::Dim, &head));
    for row in &rows {
        let line = format!("{:names$}  {:>times$}  {}", name(row), row.ready, row.after);
        let _ = writeln!(
            text,
            "{:>places$} {} {}",
            row.place,
            row.mark,
            clean(line.trim_end())
        );
        if row.tiers.len() > 1 {
            let list: Vec<String> = row.tiers.iter().map(ToString::to_string).collect();
            let indent = places + 5;
            let separator = format!("\n{:indent$}", "");
            let lines = wrap(&clean(&list.join(", ")), style.width.saturating_sub(indent)).join(&separator);
            let _ = writeln!(text, "{:indent$}{}", "", style.paint(Paint::Dim, &lines));
        }
    }
    text.push_str(&legend(&rows, style));
    text
}

fn headline(shown: &ShownOrder, total: usize, style: Style) -> String {
    let entry = if shown.entry.is_empty() { "." } else { &shown.entry };
    let entry = style.paint(Paint::Bold, &clean(entry));
    match shown.duration_s {
        Some(duration) => format!(
            "{entry}: {total} tiers come up in {}\n\n",
            duration_text(duration)
        ),
        None => {
            let verdict = style.paint(Paint::Bad, &shown.verdict.to_string());
            format!(
                "{entry}: {verdict}, {} of {total} tiers come up\n\n",
                shown.rows.len()
            )
        }
    }
}

/// The tiers that come up.
fn ready(shown: &ShownOrder, is_large: bool) -> Vec<Row<'_>> {
    let least = if is_large { GATHERED_LEAST } else { usize::MAX };
    let mut rows = Vec::new();
    let mut above: Option<&OrderRow> = None;
    for group in shown.rows.chunk_by(|one, other| one.after == other.after) {
        let parts = if group.len() < least {
            group.chunks(1)
        } else {
            group.chunks(group.len())
        };
        for part in parts {
            let (first, last) = (&part[0], &part[part.len() - 1]);
            let mark = match above {
                Some(above) if above.place == first.place => "=",
                Some(_) if !first.ordered => "~",
                _ => " ",
            };
            let span = |from: String, to: String| {
                if part.len() == 1 {
                    from
                } else {
                    format!("{from}-{to}")
                }
            };
            rows.push(Row {
                place: span(first.place.to_string(), last.place.to_string()),
                mark: mark.to_owned(),
                tiers: part.iter().map(|row| &row.tier).collect(),
                ready: span(duration_text(first.ready_at_s), duration_text(last.ready_at_s)),
                after: names(&first.after),
            });
            above = Some(last);
        }
    }
    rows
}

/// The tiers that do not.
fn never(shown: &ShownOrder, is_large: bool, style: Style) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for tier in &shown.others {
        let (mark, paint) = timeline::mark(tier.state);
        let waits: Vec<String> = tier
            .waiting_on
            .iter()
            .take(WAITS_LISTED_MAX)
            .map(|on| wait(tier, on))
            .collect();
        let row = Row {
            place: String::new(),
            mark: style.paint(paint, mark),
            tiers: vec![&tier.name],
            ready: timeline::state_word(tier.state).to_owned(),
            after: waits.join(", "),
        };
        let alike = rows
            .iter_mut()
            .find(|known| known.mark == row.mark && known.after == row.after);
        match alike.filter(|_| is_large) {
            Some(known) => known.tiers.push(&tier.name),
            None => rows.push(row),
        }
    }
    rows
}

/// What a tier waits for; one that does not exist yet waits for the tier that creates it.
fn wait(tier: &Tier, on: &WaitingOn) -> String {
    match (&on.tier, on.waiting_for) {
        (Some(parent), WaitingFor::Object) if on.what == format!("Kustomization/{}", tier.name) => {
            format!("{parent} (creates it)")
        }
        _ => timeline::wait(on),
    }
}

fn names(tiers: &[TierName]) -> String {
    tiers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn legend(rows: &[Row<'_>], style: Style) -> String {
    let has = |mark: &str| rows.iter().any(|row| row.mark == mark);
    let mut lines = Vec::new();
    if has("=") {
        lines.push("= Ready at the same moment as the one above: any order of these is right");
    }
    if has("~") {
        lines.push("~ nothing orders it after the one above: the delays of this rehearsal did");
    }
    if rows.iter().any(|row| row.tiers.len() > 1) {
        lines.push("  tiers of one row are alike; -v gives each a row of its own");
    }
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines
        .into_iter()
        .map(|line| style.paint(Paint::Dim, line))
        .collect();
    format!("\n{}\n", lines.join("\n"))
}
