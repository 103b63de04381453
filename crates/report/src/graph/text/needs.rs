//! What tiers need of each other, by who brings it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firstpass_object::TierName;
use firstpass_order::{NeedSort, NeedView, Order};

use super::listed;
use crate::clean::clean;
use crate::graph::drawing::{sort_word, summary};
use crate::graph::{ShownGraph, counted};
use crate::text::{Paint, Style};
use crate::wrap::wrap;

/// Names in one line beyond this many are counted, unless all are asked for.
const LISTED_MAX: usize = 4;

/// What one object of one tier brings, and the tiers that need it and have the same guarantee, or the same lack of one.
pub(super) struct Supply<'a> {
    pub(super) order: Order,
    sort: NeedSort,
    because: Option<&'a str>,
    from: Option<String>,
    brought_by: Option<&'a str>,
    things: Vec<String>,
    /// The tiers that need it; `itself` for the one that would bring it.
    to: Vec<String>,
}

impl Supply<'_> {
    /// How many needs these are.
    pub(super) fn count(&self) -> usize {
        self.things.len() * self.to.len()
    }
}

/// Everything that tiers need of others, gathered, in the order of those who bring it. What may come from somewhere
/// unseen is left out.
pub(super) fn supplies(shown: &ShownGraph) -> Vec<Supply<'_>> {
    /// Who brings it, what is said about it, and who needs it.
    type Key<'a> = (usize, Order, NeedSort, Option<&'a str>, Option<&'a str>, usize);
    /// The same with the things in the place of who needs them.
    type Alike<'a> = (
        usize,
        Order,
        NeedSort,
        Option<&'a str>,
        Option<&'a str>,
        Vec<String>,
    );
    let mut things: BTreeMap<Key<'_>, Vec<String>> = BTreeMap::new();
    let own = shown
        .view
        .tiers
        .iter()
        .enumerate()
        .map(|(place, tier)| (None, place, &tier.unmet));
    let tiers = shown.view.tiers.iter().enumerate();
    let place: BTreeMap<&TierName, usize> = tiers.map(|(place, tier)| (&tier.name, place)).collect();
    let across = shown
        .view
        .edges
        .iter()
        .filter_map(|edge| Some((Some(*place.get(&edge.from)?), *place.get(&edge.to)?, &edge.needs)));
    for (from, to, needs) in own.chain(across) {
        for need in needs.iter().filter(|need| need.order != Order::Unknown) {
            // A need of the tier itself goes with those that it would meet for others.
            let from = from.unwrap_or(if need.order == Order::Missing {
                usize::MAX
            } else {
                to
            });
            let key = (
                from,
                need.order,
                need.sort,
                need.because.as_deref(),
                need.brought_by.as_deref(),
                to,
            );
            things.entry(key).or_default().push(need.what.clone());
        }
    }
    let mut supplies: Vec<Supply<'_>> = Vec::new();
    let mut places: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
    for ((from, order, sort, because, brought_by, to), things) in things {
        let name = |place: usize| shown.short(&shown.view.tiers[place].name).into_owned();
        let user = if from == to {
            format!("{} itself", name(to))
        } else {
            name(to)
        };
        let key = (from, order, sort, because, brought_by, things.clone());
        if let Some(index) = places.get(&key) {
            supplies[*index].to.push(user);
            continue;
        }
        places.insert(key, supplies.len());
        let from = (from != usize::MAX).then(|| name(from));
        supplies.push(Supply {
            order,
            sort,
            because,
            from,
            brought_by,
            things,
            to: vec![user],
        });
    }
    supplies
}

/// Each supply with its guarantee, or what is wrong.
pub(super) fn in_full(supplies: &[&Supply<'_>], style: Style) -> String {
    let limit = if style.verbose { usize::MAX } else { LISTED_MAX };
    let mut text = String::new();
    for supply in supplies {
        let mut head = format!("{} {}", sort_word(supply.sort), listed(&supply.things, limit));
        if let Some(from) = &supply.from {
            let _ = write!(head, " from {from}");
        }
        if let Some(object) = supply.brought_by.filter(|object| supply.things != [*object]) {
            let _ = write!(head, ", by {object}");
        }
        let reason = match (supply.order, supply.because) {
            (Order::WithoutEdge, _) => "nothing orders the two".to_owned(),
            (Order::WithoutBarrier, Some(why)) => format!("no barrier: {why}"),
            (Order::Missing, Some(hint)) => format!("nobody brings it; {hint}"),
            (Order::Missing, None) => "nobody brings it".to_owned(),
            (_, because) => because.unwrap_or_default().to_owned(),
        };
        let tail = format!("for {}: {reason}", listed(&supply.to, limit));
        let lines = |line: &str, indent: usize| {
            let separator = format!("\n{:1$}", "", indent + 2);
            wrap(&clean(line), style.width.saturating_sub(indent + 2)).join(&separator)
        };
        let _ = writeln!(text, "  {}", lines(&head, 2));
        let _ = writeln!(text, "    {}", style.paint(Paint::Dim, &lines(&tail, 4)));
    }
    text
}

/// Who brings how much to whom, guaranteed, one line per tier that brings something.
pub(super) fn in_short(shown: &ShownGraph, style: Style) -> String {
    /// How much, and for whom.
    type Gift = (String, Vec<String>);
    let mut brought: Vec<(&TierName, Vec<Gift>)> = Vec::new();
    for edge in &shown.view.edges {
        let kept: Vec<&NeedView> = edge
            .needs
            .iter()
            .filter(|need| need.order == Order::Guaranteed)
            .collect();
        if kept.is_empty() {
            continue;
        }
        if brought.last().is_none_or(|(from, _)| **from != edge.from) {
            brought.push((&edge.from, Vec::new()));
        }
        let Some((_, gifts)) = brought.last_mut() else {
            continue;
        };
        let (what, to) = (summary(kept.into_iter()), shown.short(&edge.to).into_owned());
        match gifts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, tiers)) => tiers.push(to),
            None => gifts.push((what, vec![to])),
        }
    }
    let mut text = String::new();
    for (from, gifts) in brought {
        let gift = |(what, to): &Gift| match to.len() {
            0..=LISTED_MAX => format!("{what} for {}", to.join(", ")),
            many => format!("{what} for {}", counted(many, "tier")),
        };
        let gifts: Vec<String> = gifts.iter().map(gift).collect();
        let line = format!("{}: {}", shown.short(from), gifts.join("; "));
        let _ = writeln!(
            text,
            "  {}",
            wrap(&clean(&line), style.width.saturating_sub(4)).join("\n    ")
        );
    }
    text
}
