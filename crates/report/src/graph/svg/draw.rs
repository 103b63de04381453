//! Boxes and lines as SVG elements.

use std::fmt::Write as _;

use super::shape::{DOT, NAME_HEIGHT, NOTE_HEIGHT, PADDING, Placed, cut};
use super::{LAYER_GAP, MARGIN, escaped, number};
use crate::graph::drawing::{Drawing, Line, Look, TierBox};

/// Room that an arrow head leaves before a box.
const HEAD_GAP: f64 = 3.0;

/// How far a line that goes back swings out.
const SWING: f64 = 40.0;

/// A block: one tier, or several in a frame.
pub(super) fn block(text: &mut String, placed: &Placed<'_>, drawing: &Drawing) {
    let (block, shape) = (placed.block, placed.shape);
    let first = &drawing.boxes[block.members[0]];
    if !block.is_single() {
        rectangle(
            text,
            "block",
            (placed.left, placed.top),
            (shape.width, shape.height),
            8.0,
        );
        heads(text, first, (placed.left + PADDING.0, placed.top + PADDING.1));
        let top = placed.top + PADDING.1 + shape.heads as f64 * NOTE_HEIGHT;
        for (place, member) in block.members.iter().enumerate() {
            let (column, row) = (place / block.rows(), place % block.rows());
            let at = (
                placed.left + column as f64 * shape.column,
                top + row as f64 * shape.row,
            );
            in_frame(text, &drawing.boxes[*member], at);
        }
        return;
    }
    open(text, first);
    rectangle(
        text,
        "box",
        (placed.left, placed.top),
        (shape.width, shape.height),
        6.0,
    );
    if first.is_gate {
        let (x, y) = (number(placed.right()), number(placed.top + 6.0));
        let _ = writeln!(
            text,
            "<path class=\"gate\" d=\"M{x} {y}v{}\"/>",
            number(shape.height - 12.0)
        );
    }
    let left = placed.left + PADDING.0;
    let below = name(text, first, (left, placed.top + PADDING.1));
    heads(text, first, (left, below));
    text.push_str("</g>\n");
}

/// A tier in a frame: a dot for what became of it, and its name.
fn in_frame(text: &mut String, tier: &TierBox, (left, top): (f64, f64)) {
    open(text, tier);
    let mut left = left + PADDING.0;
    if tier.look != Look::Plain {
        let _ = writeln!(
            text,
            "<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"3\"/>",
            tier.look.class(),
            number(left),
            number(top + NAME_HEIGHT / 2.0)
        );
        left += DOT;
    }
    name(text, tier, (left, top));
    text.push_str("</g>\n");
}

/// The name and what became of the tier; says where the next line goes.
fn name(text: &mut String, tier: &TierBox, (left, top): (f64, f64)) -> f64 {
    words(text, "label", (left, top + 12.0), &tier.label);
    let Some(note) = &tier.note else {
        return top + NAME_HEIGHT;
    };
    words(text, "note", (left, top + NAME_HEIGHT + 9.5), note);
    top + NAME_HEIGHT + NOTE_HEIGHT
}

/// What nothing guarantees.
fn heads(text: &mut String, tier: &TierBox, (left, mut top): (f64, f64)) {
    for (stroke, trouble) in &tier.troubles {
        words(
            text,
            &format!("remark {}", stroke.class()),
            (left, top + 9.5),
            trouble,
        );
        top += NOTE_HEIGHT;
    }
}

fn open(text: &mut String, tier: &TierBox) {
    let _ = writeln!(
        text,
        "<g class=\"{}\"><title>{}</title>",
        tier.look.class(),
        escaped(&tier.details)
    );
}

fn words(text: &mut String, class: &str, (left, base): (f64, f64), words: &str) {
    let _ = writeln!(
        text,
        "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
        number(left),
        number(base),
        escaped(&cut(words))
    );
}

fn rectangle(
    text: &mut String,
    class: &str,
    (left, top): (f64, f64),
    (width, height): (f64, f64),
    radius: f64,
) {
    let _ = writeln!(
        text,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{radius}\"/>",
        number(left),
        number(top),
        number(width),
        number(height)
    );
}

/// The way of a line: out to the right of its layer, through the layers between, and into the box from the left.
pub(super) fn way(
    (from, to): (&Placed<'_>, &Placed<'_>),
    passes: &[(usize, f64)],
    columns: &[(f64, f64)],
) -> String {
    let mut at = (from.right() + 2.0, from.middle());
    let mut way = format!("M{} {}", number(at.0), number(at.1));
    if to.block.layer < from.block.layer {
        // Back: out of the left edge and in from the right.
        let (start, end) = (
            (from.left - 2.0, from.middle()),
            (to.right() + HEAD_GAP, to.middle()),
        );
        way = format!("M{} {}", number(start.0), number(start.1));
        curve(&mut way, (start.0 - SWING, start.1), (end.0 + SWING, end.1), end);
        return way;
    }
    if to.block.layer == from.block.layer {
        let end = (to.right() + HEAD_GAP, to.middle());
        let out = at.0.max(end.0) + SWING;
        curve(&mut way, (out, at.1), (out, end.1), end);
        return way;
    }
    let (left, width) = columns[from.block.layer];
    if left + width > at.0 {
        at.0 = left + width;
        let _ = write!(way, "H{}", number(at.0));
    }
    for (layer, height) in passes {
        let (left, width) = columns[*layer];
        let next = (left, MARGIN + height);
        bend(&mut way, at, next);
        at = (left + width, next.1);
        let _ = write!(way, "H{}", number(at.0));
    }
    bend(&mut way, at, (to.left - HEAD_GAP, to.middle()));
    way
}

fn bend(way: &mut String, at: (f64, f64), goal: (f64, f64)) {
    let half = LAYER_GAP / 2.0;
    curve(way, (at.0 + half, at.1), (goal.0 - half, goal.1), goal);
}

fn curve(way: &mut String, first: (f64, f64), second: (f64, f64), goal: (f64, f64)) {
    let points = [first, second, goal].map(|(x, y)| format!("{} {}", number(x), number(y)));
    let _ = write!(way, "C{}", points.join(" "));
}

/// A line along its way.
pub(super) fn line(text: &mut String, line: &Line, way: &str) {
    let class = line.stroke.class();
    let _ = writeln!(
        text,
        "<path class=\"line {class}\" d=\"{way}\" marker-end=\"url(#{class})\"><title>{}</title></path>",
        escaped(&line.details)
    );
}
