//! How large a block is: its tiers in rows and columns, each a name with smaller lines below it.

use std::collections::BTreeMap;

use super::blocks::Block;
use crate::graph::drawing::{Drawing, TierBox};

/// Width of one character of a name: monospace at 12 px.
const NAME_CHARACTER: f64 = 7.23;

/// Width of one character of a smaller line, at 10 px.
pub(super) const NOTE_CHARACTER: f64 = 6.05;

/// Characters of a line before it is cut.
const LINE_MAX: usize = 44;

/// Height of a name, and of a smaller line.
pub(super) const NAME_HEIGHT: f64 = 16.0;
pub(super) const NOTE_HEIGHT: f64 = 13.0;

/// Room around the text of a box: left and right, above and below.
pub(super) const PADDING: (f64, f64) = (12.0, 7.0);

/// Room between two rows of a block.
const ROW_GAP: f64 = 4.0;

/// Room for the dot before a name in a block.
pub(super) const DOT: f64 = 10.0;

/// The size of a block.
pub(super) struct Shape {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Width of one column of tiers.
    pub(super) column: f64,
    /// Height of one row.
    pub(super) row: f64,
    /// Smaller lines that all members share, above the rows.
    pub(super) heads: usize,
}

/// A block at its place.
pub(super) struct Placed<'a> {
    pub(super) block: &'a Block,
    pub(super) shape: &'a Shape,
    pub(super) left: f64,
    pub(super) top: f64,
}

impl Placed<'_> {
    pub(super) fn right(&self) -> f64 {
        self.left + self.shape.width
    }

    pub(super) fn middle(&self) -> f64 {
        self.top + self.shape.height / 2.0
    }
}

/// The shapes of all blocks; single tiers of one layer have one width.
pub(super) fn of(blocks: &[Block], drawing: &Drawing) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = blocks.iter().map(|block| shape(block, drawing)).collect();
    let mut widest: BTreeMap<usize, f64> = BTreeMap::new();
    for (block, shape) in blocks.iter().zip(&shapes).filter(|(block, _)| block.is_single()) {
        let width = widest.entry(block.layer).or_default();
        *width = width.max(shape.width);
    }
    for (block, shape) in blocks
        .iter()
        .zip(&mut shapes)
        .filter(|(block, _)| block.is_single())
    {
        shape.width = widest[&block.layer];
    }
    shapes
}

fn shape(block: &Block, drawing: &Drawing) -> Shape {
    let boxes = || block.members.iter().map(|member| &drawing.boxes[*member]);
    let first = &drawing.boxes[block.members[0]];
    let widest_trouble = first
        .troubles
        .iter()
        .map(|(_, text)| width(text, NOTE_CHARACTER))
        .fold(0.0, f64::max);
    let widest = boxes().map(own_width).fold(0.0, f64::max);
    let notes = boxes()
        .map(|tier| usize::from(tier.note.is_some()))
        .max()
        .unwrap_or(0);
    let row = NAME_HEIGHT + notes as f64 * NOTE_HEIGHT;
    let heads = first.troubles.len();
    let around = 2.0 * PADDING.1 + heads as f64 * NOTE_HEIGHT;
    if block.is_single() {
        let width = widest.max(widest_trouble) + 2.0 * PADDING.0;
        return Shape {
            width,
            height: row + around,
            column: width,
            row,
            heads,
        };
    }
    let column = widest + 2.0 * PADDING.0 + DOT;
    let rows = block.rows() as f64;
    Shape {
        width: (column * block.columns as f64).max(widest_trouble + 2.0 * PADDING.0),
        height: rows * row + (rows - 1.0) * ROW_GAP + around,
        column,
        row: row + ROW_GAP,
        heads,
    }
}

fn own_width(tier: &TierBox) -> f64 {
    let note = tier.note.as_ref().map_or(0.0, |note| width(note, NOTE_CHARACTER));
    width(&tier.label, NAME_CHARACTER).max(note)
}

fn width(line: &str, character: f64) -> f64 {
    cut(line).chars().count() as f64 * character
}

/// A line that is not too long.
pub(super) fn cut(line: &str) -> String {
    if line.chars().count() <= LINE_MAX {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LINE_MAX - 1).collect();
    format!("{kept}\u{2026}")
}
