//! Which boxes and lines a picture of the graph has, whoever draws it.

use std::collections::BTreeMap;

use firstpass_diagnostics::{TierState, WaitingFor};
use firstpass_object::TierName;
use firstpass_order::{EdgeView, NeedSort, NeedView, Order, TierView, WaitsFor};

use super::{ShownGraph, counted};
use firstpass_diagnostics::duration_text;

/// What is drawn.
pub(super) struct Drawing {
    /// One box per tier, in the order of the view.
    pub(super) boxes: Vec<TierBox>,
    /// The lines, by their ends.
    pub(super) lines: Vec<Line>,
}

/// A tier.
pub(super) struct TierBox {
    pub(super) label: String,
    /// A second, smaller line: what a rehearsal saw.
    pub(super) note: Option<String>,
    /// What nothing guarantees of what it needs, a few words each.
    pub(super) troubles: Vec<(Stroke, String)>,
    pub(super) layer: usize,
    pub(super) look: Look,
    /// Whether Ready proves more than "applied".
    pub(super) is_gate: bool,
    /// Everything about it, for whoever points at it.
    pub(super) details: String,
}

/// How a tier looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    /// Nothing to say.
    Plain,
    /// Ready in the rehearsal.
    Ready,
    /// Never Ready, because of others.
    Waiting,
    /// Its own attempts fail, or nothing meets its needs.
    Bad,
    /// Suspended, or not to be seen.
    Unseen,
}

/// An edge.
pub(super) struct Line {
    /// Places in `boxes`.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) stroke: Stroke,
    /// A few words, where something is wrong.
    pub(super) label: Option<String>,
    pub(super) details: String,
}

/// How an edge looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stroke {
    /// `dependsOn`, and every need that it carries is guaranteed.
    Depends,
    /// One tier creates the other, and nothing else orders them.
    Creates,
    /// `dependsOn` or a parent orders them, and yet it proves nothing about a need.
    NoBarrier,
    /// A need, and nothing orders the two.
    NoEdge,
    /// A need that waits for the tier that has it.
    Blocked,
}

impl Look {
    /// All looks.
    pub(super) const ALL: [Look; 5] = [Look::Plain, Look::Ready, Look::Waiting, Look::Bad, Look::Unseen];

    /// A name for style sheets.
    pub(super) fn class(self) -> &'static str {
        match self {
            Look::Plain => "plain",
            Look::Ready => "ready",
            Look::Waiting => "waiting",
            Look::Bad => "bad",
            Look::Unseen => "unseen",
        }
    }
}

impl Stroke {
    /// All strokes.
    pub(super) const ALL: [Stroke; 5] = [
        Stroke::Depends,
        Stroke::Creates,
        Stroke::NoBarrier,
        Stroke::NoEdge,
        Stroke::Blocked,
    ];

    /// A name for style sheets.
    pub(super) fn class(self) -> &'static str {
        match self {
            Stroke::Depends => "depends",
            Stroke::Creates => "creates",
            Stroke::NoBarrier => "no-barrier",
            Stroke::NoEdge => "no-edge",
            Stroke::Blocked => "blocked",
        }
    }

    /// Whether something is wrong with it.
    pub(super) fn is_trouble(self) -> bool {
        !matches!(self, Stroke::Depends | Stroke::Creates)
    }
}

impl Drawing {
    pub(super) fn of(shown: &ShownGraph) -> Drawing {
        let mut boxes: Vec<TierBox> = shown
            .view
            .tiers
            .iter()
            .map(|tier| tier_box(shown, tier))
            .collect();
        let places: BTreeMap<&TierName, usize> = shown
            .view
            .tiers
            .iter()
            .enumerate()
            .map(|(place, tier)| (&tier.name, place))
            .collect();
        let ends = |edge: &EdgeView| Some((*places.get(&edge.from)?, *places.get(&edge.to)?));
        let edges: Vec<((usize, usize), &EdgeView)> = shown
            .view
            .edges
            .iter()
            .filter_map(|edge| Some((ends(edge)?, edge)))
            .collect();
        let mut kept = Kept::new(boxes.len());
        for ((from, to), edge) in &edges {
            kept.add(*from, *to, edge);
        }
        let mut lines = Vec::new();
        for ((from, to), edge) in edges {
            let Some(stroke) = stroke(edge) else { continue };
            // Somebody who depends on what the same parent created needs no line to the parent.
            if stroke == Stroke::Creates && kept.comes_after(to, from) {
                continue;
            }
            let label = stroke.is_trouble().then(|| trouble(&edge.needs));
            boxes[to]
                .troubles
                .extend(label.clone().map(|label| (stroke, label)));
            lines.push(Line {
                from,
                to,
                stroke,
                label,
                details: edge_details(edge),
            });
        }
        Drawing { boxes, lines }
    }
}

/// What Flux keeps in order, by the tier that comes later.
struct Kept {
    depends: Vec<Vec<usize>>,
    parent: Vec<Option<usize>>,
}

impl Kept {
    fn new(count: usize) -> Kept {
        Kept {
            depends: vec![Vec::new(); count],
            parent: vec![None; count],
        }
    }

    fn add(&mut self, from: usize, to: usize, edge: &EdgeView) {
        if edge.depends_on {
            self.depends[to].push(from);
        }
        if edge.parent {
            self.parent[to] = Some(from);
        }
    }

    /// Whether a tier depends on something that comes after another tier, or is it.
    fn comes_after(&self, tier: usize, other: usize) -> bool {
        let mut seen = vec![false; self.depends.len()];
        seen[tier] = true;
        let mut open = self.depends[tier].clone();
        while let Some(current) = open.pop() {
            if current == other {
                return true;
            }
            if !std::mem::replace(&mut seen[current], true) {
                open.extend(&self.depends[current]);
                open.extend(self.parent[current]);
            }
        }
        false
    }
}

/// How an edge is drawn; a need alone, with its order guaranteed by other edges, is not.
fn stroke(edge: &EdgeView) -> Option<Stroke> {
    match edge.order() {
        Some(Order::Blocked | Order::Missing) => Some(Stroke::Blocked),
        Some(Order::WithoutEdge) => Some(Stroke::NoEdge),
        Some(Order::WithoutBarrier) => Some(Stroke::NoBarrier),
        Some(Order::Guaranteed | Order::Unknown) | None if edge.depends_on => Some(Stroke::Depends),
        Some(Order::Guaranteed | Order::Unknown) | None => edge.parent.then_some(Stroke::Creates),
    }
}

fn tier_box(shown: &ShownGraph, tier: &TierView) -> TierBox {
    let seen = shown.seen(&tier.name);
    let is_hopeless = |need: &NeedView| matches!(need.order, Order::Blocked | Order::Missing);
    let look = match seen.map(|seen| seen.state) {
        Some(TierState::Ready) => Look::Ready,
        Some(TierState::Waiting) => Look::Waiting,
        Some(TierState::Failed) => Look::Bad,
        Some(TierState::Suspended | TierState::Unrendered | TierState::Removed) => Look::Unseen,
        None if tier.suspended || !tier.rendered => Look::Unseen,
        None if tier.unmet.iter().any(is_hopeless) || !tier.missing_dependencies.is_empty() => Look::Bad,
        None => Look::Plain,
    };
    let note = seen.map(|seen| match (seen.ready_at_s, seen.waiting_on.first()) {
        (Some(at), _) => format!("Ready after {}", duration_text(at)),
        (None, _) if seen.state == TierState::Suspended => "suspended".to_owned(),
        (None, Some(wait)) => match (wait.waiting_for, &wait.tier) {
            (WaitingFor::Dependency | WaitingFor::Object, Some(tier)) => {
                format!("waits for {}", shown.short(tier))
            }
            (WaitingFor::Kind, _) => format!("waits for kind {}", bare(&wait.what)),
            _ => format!("waits for {}", crate::timeline::wait(wait)),
        },
        (None, None) => super::state_word(seen.state).to_owned(),
    });
    TierBox {
        label: shown.short(&tier.name).into_owned(),
        note,
        troubles: Vec::new(),
        layer: tier.layer,
        look,
        is_gate: tier.waits_for != WaitsFor::Nothing,
        details: box_details(tier),
    }
}

fn box_details(tier: &TierView) -> String {
    let mut lines = vec![tier.name.to_string(), ready_when(&tier.waits_for)];
    if tier.suspended {
        lines.push("suspended".to_owned());
    }
    if !tier.rendered {
        lines.push("its contents could not be seen".to_owned());
    }
    lines.extend(
        tier.missing_dependencies
            .iter()
            .map(|missing| format!("depends on {missing}, which does not exist")),
    );
    lines.extend(tier.unmet.iter().map(need_line));
    lines.join("\n")
}

fn ready_when(waits_for: &WaitsFor) -> String {
    match waits_for {
        WaitsFor::Nothing => "Ready as soon as its objects are stored".to_owned(),
        WaitsFor::Everything => "Ready when everything that it applied is healthy".to_owned(),
        WaitsFor::Objects(objects) => format!("Ready when {} is healthy", objects.join(", ")),
    }
}

fn edge_details(edge: &EdgeView) -> String {
    let how = match (edge.depends_on, edge.parent) {
        (true, true) => "depends on it and is created by it",
        (true, false) => "depends on it",
        (false, true) => "is created by it",
        (false, false) => "needs what it brings",
    };
    let mut lines = vec![format!("{} -> {}: {how}", edge.from, edge.to)];
    lines.extend(edge.needs.iter().map(need_line));
    lines.join("\n")
}

/// A need in one line.
pub(super) fn need_line(need: &NeedView) -> String {
    let mut line = format!("{} {}", sort_word(need.sort), need.what);
    if let Some(object) = need.brought_by.as_ref().filter(|object| **object != need.what) {
        line.push_str(&format!(" from {object}"));
    }
    let order = match need.order {
        Order::Guaranteed => "guaranteed",
        Order::Unknown => "nothing that can be seen brings it",
        Order::WithoutBarrier => "no barrier",
        Order::WithoutEdge => "no edge",
        Order::Blocked => "blocked",
        Order::Missing => "nobody brings it",
    };
    line.push_str(&format!(": {order}"));
    if let Some(because) = &need.because {
        line.push_str(&format!(", {because}"));
    }
    line
}

/// What is wrong with an edge, in a few words.
fn trouble(needs: &[NeedView]) -> String {
    let worst = needs.iter().map(|need| need.order).max();
    let bad: Vec<&NeedView> = needs.iter().filter(|need| Some(need.order) == worst).collect();
    let word = match worst {
        Some(Order::WithoutBarrier) => "no barrier",
        Some(Order::WithoutEdge) => "no edge",
        _ => "blocked",
    };
    match bad.as_slice() {
        [need] if need.sort == NeedSort::Kind => format!("{word}: kind {}", bare(&need.what)),
        [need] => format!("{word}: {} {}", sort_word(need.sort), need.what),
        several => format!("{word}: {}", summary(several.iter().copied())),
    }
}

/// A kind without its group.
fn bare(kind: &str) -> &str {
    kind.split('.').next().unwrap_or(kind)
}

/// Needs, counted by sort: `3 kinds, 1 namespace`.
pub(super) fn summary<'n>(needs: impl Iterator<Item = &'n NeedView>) -> String {
    let mut counts: BTreeMap<NeedSort, usize> = BTreeMap::new();
    needs.for_each(|need| *counts.entry(need.sort).or_default() += 1);
    let words = counts.iter().map(|(sort, count)| match sort {
        NeedSort::Variables if *count == 1 => "variables".to_owned(),
        NeedSort::Variables => format!("{count} sets of variables"),
        NeedSort::Health => counted(*count, "health check"),
        _ => counted(*count, sort_word(*sort)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A sort of need in one word.
pub(super) fn sort_word(sort: NeedSort) -> &'static str {
    match sort {
        NeedSort::Kind => "kind",
        NeedSort::Namespace => "namespace",
        NeedSort::Variables => "variables",
        NeedSort::Health => "health of",
        NeedSort::Webhook => "webhook",
        NeedSort::Value => "value",
        NeedSort::Consumer => "consumer",
    }
}
