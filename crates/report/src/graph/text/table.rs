//! The tiers, one row each, layer by layer. Where there are many, those that differ in nothing but their name share a row.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firstpass_diagnostics::TierState;
use firstpass_object::TierName;
use firstpass_order::{EdgeView, TierView, WaitsFor};

use super::listed;
use crate::clean::clean;
use crate::graph::{ShownGraph, counted, state_word};
use crate::text::{Paint, Style};
use crate::timeline;
use crate::wrap::wrap;
use firstpass_diagnostics::duration_text;

/// Names in one cell beyond this many are counted.
const NAMES_LISTED_MAX: usize = 4;

/// Tiers beyond this many are gathered.
const SINGLE_ROWS_MAX: usize = 40;

/// Tiers that differ in nothing but their name, and are fewer than this, keep rows of their own.
const GATHERED_LEAST: usize = 4;

/// A row: one tier, or several.
struct Row<'a> {
    tiers: Vec<&'a TierView>,
    ready_when: String,
    seen: String,
    after: String,
}

pub(super) fn render(shown: &ShownGraph, style: Style) -> String {
    let rows = rows(shown, style);
    let names: Vec<String> = rows
        .iter()
        .map(|row| match row.tiers.as_slice() {
            [tier] => shown.short(&tier.name).into_owned(),
            several => counted(several.len(), "tier"),
        })
        .collect();
    let seen_head = if shown.rehearsal.is_some() {
        "rehearsed"
    } else {
        ""
    };
    let widest = |cells: &mut dyn Iterator<Item = &str>, head: &str| {
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
            .max(head.len())
    };
    let widths = (
        widest(&mut names.iter().map(String::as_str), "tier"),
        widest(&mut rows.iter().map(|row| row.ready_when.as_str()), "ready when"),
        widest(&mut rows.iter().map(|row| row.seen.as_str()), seen_head),
    );
    let line = |name: &str, ready_when: &str, seen: &str, after: &str| {
        let mut line = format!("{name:0$}  {ready_when:1$}  ", widths.0, widths.1);
        if widths.2 > 0 {
            let _ = write!(line, "{seen:0$}  ", widths.2);
        }
        line.push_str(after);
        clean(line.trim_end()).into_owned()
    };
    let mut text = format!(
        "     {}\n",
        style.paint(Paint::Dim, &line("tier", "ready when", seen_head, "after"))
    );
    let mut layer = None;
    for (row, name) in rows.iter().zip(&names) {
        let here = Some(row.tiers[0].layer);
        let number = if layer == here {
            String::new()
        } else {
            (row.tiers[0].layer + 1).to_string()
        };
        layer = here;
        let mark = match shown.seen(&row.tiers[0].name) {
            Some(seen) => {
                let (mark, paint) = timeline::mark(seen.state);
                style.paint(paint, mark)
            }
            None => " ".to_owned(),
        };
        let number = style.paint(Paint::Dim, &format!("{number:>2}"));
        let _ = writeln!(
            text,
            "{number} {mark} {}",
            line(name, &row.ready_when, &row.seen, &row.after)
        );
        if row.tiers.len() > 1 {
            let names: Vec<String> = row
                .tiers
                .iter()
                .map(|tier| shown.short(&tier.name).into_owned())
                .collect();
            let names = wrap(&clean(&names.join(", ")), style.width.saturating_sub(7)).join("\n       ");
            let _ = writeln!(text, "       {}", style.paint(Paint::Dim, &names));
        }
    }
    text
}

fn rows<'a>(shown: &'a ShownGraph, style: Style) -> Vec<Row<'a>> {
    let mut into: BTreeMap<&TierName, Vec<&EdgeView>> = BTreeMap::new();
    for edge in &shown.view.edges {
        into.entry(&edge.to).or_default().push(edge);
    }
    let edges = |tier: &TierView| into.get(&tier.name).map_or(&[][..], Vec::as_slice);
    let tiers = shown.view.tiers.iter();
    let single: Vec<Row<'a>> = tiers.map(|tier| row(shown, tier, edges(tier))).collect();
    if single.len() <= SINGLE_ROWS_MAX || style.verbose {
        return single;
    }
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut alike: BTreeMap<(usize, String, String, String), usize> = BTreeMap::new();
    let key = |row: &Row<'_>| {
        let tier = row.tiers[0];
        let state = shown
            .seen(&tier.name)
            .map(|seen| state_word(seen.state))
            .unwrap_or_default();
        (
            tier.layer,
            row.ready_when.clone(),
            state.to_owned(),
            row.after.clone(),
        )
    };
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    single
        .iter()
        .for_each(|row| *counts.entry(key(row)).or_default() += 1);
    for row in single {
        let key = key(&row);
        if counts[&key] < GATHERED_LEAST {
            rows.push(row);
        } else if let Some(index) = alike.get(&key) {
            rows[*index].tiers.extend(row.tiers);
        } else {
            let seen = key.2.clone();
            alike.insert(key, rows.len());
            rows.push(Row { seen, ..row });
        }
    }
    rows
}

fn row<'a>(shown: &'a ShownGraph, tier: &'a TierView, into: &[&EdgeView]) -> Row<'a> {
    let ready_when = match &tier.waits_for {
        _ if tier.suspended => "suspended".to_owned(),
        WaitsFor::Nothing => "applied".to_owned(),
        WaitsFor::Everything => "all healthy".to_owned(),
        WaitsFor::Objects(objects) => format!("{} healthy", counted(objects.len(), "object")),
    };
    let seen = shown.seen(&tier.name).map(|seen| match seen.ready_at_s {
        Some(at) => duration_text(at),
        None if seen.state == TierState::Failed => "fails".to_owned(),
        None if seen.state == TierState::Waiting => "never".to_owned(),
        None => state_word(seen.state).to_owned(),
    });
    Row {
        tiers: vec![tier],
        ready_when,
        seen: seen.unwrap_or_default(),
        after: after(shown, tier, into),
    }
}

/// What comes before a tier: its dependencies, else the tier that creates it.
fn after(shown: &ShownGraph, tier: &TierView, into: &[&EdgeView]) -> String {
    let (mut depends, mut parent): (Vec<String>, Option<&TierName>) = (Vec::new(), None);
    for edge in into {
        if edge.depends_on {
            depends.push(shown.short(&edge.from).into_owned());
        } else if edge.parent {
            parent = Some(&edge.from);
        }
    }
    depends.extend(
        tier.missing_dependencies
            .iter()
            .map(|missing| format!("{missing} (missing)")),
    );
    match parent {
        Some(parent) if depends.is_empty() => format!("{} (creates it)", shown.short(parent)),
        _ => listed(&depends, NAMES_LISTED_MAX),
    }
}
