//! Tiers that stand at the same place share one block, so that a hundred leaves can be read.

use std::collections::BTreeMap;

use super::super::drawing::{Drawing, Stroke};

/// Leaves at one place that are fewer than this are boxes of their own.
const BLOCK_LEAST: usize = 5;

/// Rows of a block before it grows a second column.
const ROWS_MAX: usize = 24;

/// What is drawn as one: a tier, or several that hang on the same others and on which nothing hangs.
pub(super) struct Block {
    /// Places in `Drawing::boxes`, by label.
    pub(super) members: Vec<usize>,
    pub(super) layer: usize,
    pub(super) columns: usize,
}

/// A line between blocks, with a line of the drawing that it stands for.
pub(super) struct BlockLine {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) line: usize,
}

impl Block {
    pub(super) fn rows(&self) -> usize {
        self.members.len().div_ceil(self.columns)
    }

    pub(super) fn is_single(&self) -> bool {
        self.members.len() == 1
    }
}

/// Where a line comes from, how it looks and what it says.
type Incoming<'a> = (usize, Stroke, Option<&'a str>);

/// Gathers the boxes of a drawing into blocks.
pub(super) fn gather(drawing: &Drawing) -> (Vec<Block>, Vec<BlockLine>) {
    let count = drawing.boxes.len();
    let mut incoming: Vec<Vec<Incoming<'_>>> = vec![Vec::new(); count];
    let mut is_leaf = vec![true; count];
    for line in &drawing.lines {
        incoming[line.to].push((line.from, line.stroke, line.label.as_deref()));
        is_leaf[line.from] = false;
    }
    let mut places: BTreeMap<(usize, Vec<Incoming<'_>>), Vec<usize>> = BTreeMap::new();
    for index in (0..count).filter(|index| is_leaf[*index]) {
        let mut key = incoming[index].clone();
        key.sort_unstable();
        places
            .entry((drawing.boxes[index].layer, key))
            .or_default()
            .push(index);
    }
    let mut block_of = vec![usize::MAX; count];
    let mut blocks: Vec<Block> = Vec::new();
    for members in places
        .into_values()
        .filter(|members| members.len() >= BLOCK_LEAST)
    {
        members.iter().for_each(|member| block_of[*member] = blocks.len());
        let layer = drawing.boxes[members[0]].layer;
        let columns = members.len().div_ceil(ROWS_MAX);
        blocks.push(Block {
            members,
            layer,
            columns,
        });
    }
    for (index, block) in block_of.iter_mut().enumerate() {
        if *block == usize::MAX {
            *block = blocks.len();
            blocks.push(Block {
                members: vec![index],
                layer: drawing.boxes[index].layer,
                columns: 1,
            });
        }
    }
    let mut seen: BTreeMap<(usize, usize, Stroke), usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for (index, line) in drawing.lines.iter().enumerate() {
        let (from, to) = (block_of[line.from], block_of[line.to]);
        if seen.insert((from, to, line.stroke), index).is_none() {
            lines.push(BlockLine {
                from,
                to,
                line: index,
            });
        }
    }
    (blocks, lines)
}
