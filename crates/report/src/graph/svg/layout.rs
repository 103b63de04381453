//! Where boxes and lines go: layers from left to right, few crossings, short lines.
//!
//! The classic four steps for layered graphs, small enough to own: long lines are cut into pieces, one per layer; boxes
//! are put into an order with few crossings; each is moved as close to its neighbours as the room allows. Everything is
//! decided by the input alone, so the same graph gives the same picture.
//!
//! Lines of the same look from one box share their pieces until they part, as the branches of a tree do.

use std::collections::BTreeMap;

/// Sweeps over all layers to find a good order. More bring nothing on graphs of real repositories.
const ORDER_SWEEPS: usize = 12;

/// Sweeps over all layers that move boxes towards their neighbours.
const MOVE_SWEEPS: usize = 48;

/// Room between two boxes of a layer, and around a line that passes.
const GAP: f64 = 12.0;

/// What is laid out: boxes with their layer and height, and lines between them.
pub(super) struct Input<'a> {
    /// Layer and height of each box.
    pub(super) boxes: &'a [(usize, f64)],
    /// From, to, and a number that is the same for lines that look the same.
    pub(super) lines: &'a [(usize, usize, usize)],
}

/// The vertical middle of everything.
pub(super) struct Layout {
    /// Of each box.
    pub(super) boxes: Vec<f64>,
    /// Of each line in each layer that it passes, left to right.
    pub(super) passes: Vec<Vec<(usize, f64)>>,
    /// The height of the whole picture.
    pub(super) height: f64,
}

/// A box, or the place where lines pass a layer.
struct Node {
    layer: usize,
    height: f64,
    /// Neighbours in the layer before and in the one after.
    before: Vec<usize>,
    after: Vec<usize>,
}

/// Lays everything out.
pub(super) fn layout(input: &Input<'_>) -> Layout {
    let (nodes, passes) = nodes(input);
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if layers.len() <= node.layer {
            layers.resize(node.layer + 1, Vec::new());
        }
        layers[node.layer].push(index);
    }
    put_in_order(&nodes, &mut layers);
    let middles = place(&nodes, &layers);
    let top = (0..nodes.len())
        .map(|node| middles[node] - nodes[node].height / 2.0)
        .fold(f64::MAX, f64::min);
    let bottom = (0..nodes.len())
        .map(|node| middles[node] + nodes[node].height / 2.0)
        .fold(f64::MIN, f64::max);
    let top = if top == f64::MAX { 0.0 } else { top };
    Layout {
        boxes: (0..input.boxes.len()).map(|index| middles[index] - top).collect(),
        passes: passes
            .into_iter()
            .map(|way| {
                way.into_iter()
                    .map(|node| (nodes[node].layer, middles[node] - top))
                    .collect()
            })
            .collect(),
        height: (bottom - top).max(0.0),
    }
}

/// The boxes, and a node for each layer that a line passes; and for each line the nodes on its way.
fn nodes(input: &Input<'_>) -> (Vec<Node>, Vec<Vec<usize>>) {
    let blank = |layer: usize, height: f64| Node {
        layer,
        height,
        before: Vec::new(),
        after: Vec::new(),
    };
    let mut nodes: Vec<Node> = input
        .boxes
        .iter()
        .map(|(layer, height)| blank(*layer, *height))
        .collect();
    let mut shared: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
    let mut passes = Vec::new();
    for (from, to, look) in input.lines {
        let (first, last) = (nodes[*from].layer, nodes[*to].layer);
        let mut way = Vec::new();
        // A line to the left, or within a layer, goes straight.
        if first < last {
            let mut previous = *from;
            for layer in first + 1..last {
                let node = *shared.entry((*from, *look, layer)).or_insert_with(|| {
                    nodes.push(blank(layer, 0.0));
                    nodes.len() - 1
                });
                connect(&mut nodes, previous, node);
                way.push(node);
                previous = node;
            }
            connect(&mut nodes, previous, *to);
        }
        passes.push(way);
    }
    (nodes, passes)
}

fn connect(nodes: &mut [Node], from: usize, to: usize) {
    if !nodes[from].after.contains(&to) {
        nodes[from].after.push(to);
        nodes[to].before.push(from);
    }
}

/// Orders each layer by the middle of its neighbours, back and forth, and keeps the best order seen.
fn put_in_order(nodes: &[Node], layers: &mut Vec<Vec<usize>>) {
    let mut best = (crossings(nodes, layers), layers.clone());
    for sweep in 0..ORDER_SWEEPS {
        let forward = sweep % 2 == 0;
        let mut position = positions(nodes.len(), layers);
        let order: Vec<usize> = if forward {
            (0..layers.len()).collect()
        } else {
            (0..layers.len()).rev().collect()
        };
        for layer in order {
            let mean = |node: &usize| {
                let neighbours = if forward {
                    &nodes[*node].before
                } else {
                    &nodes[*node].after
                };
                match neighbours.len() {
                    0 => position[*node],
                    count => neighbours.iter().map(|other| position[*other]).sum::<f64>() / count as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> = layers[layer].iter().map(|node| (mean(node), *node)).collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            layers[layer] = keyed.into_iter().map(|(_, node)| node).collect();
            for (place, node) in layers[layer].iter().enumerate() {
                position[*node] = place as f64;
            }
        }
        let found = crossings(nodes, layers);
        if found < best.0 {
            best = (found, layers.clone());
        }
    }
    *layers = best.1;
}

fn positions(count: usize, layers: &[Vec<usize>]) -> Vec<f64> {
    let mut position = vec![0.0; count];
    for layer in layers {
        for (place, node) in layer.iter().enumerate() {
            position[*node] = place as f64;
        }
    }
    position
}

/// How many pairs of lines cross.
fn crossings(nodes: &[Node], layers: &[Vec<usize>]) -> usize {
    let position = positions(nodes.len(), layers);
    let mut count = 0;
    for layer in layers {
        let mut ends: Vec<f64> = Vec::new();
        for node in layer {
            let mut goals: Vec<f64> = nodes[*node].after.iter().map(|to| position[*to]).collect();
            goals.sort_by(f64::total_cmp);
            // Everything that began above and ends below crosses.
            count += goals
                .iter()
                .map(|goal| ends.len() - ends.partition_point(|end| end <= goal))
                .sum::<usize>();
            for goal in goals {
                let place = ends.partition_point(|end| *end <= goal);
                ends.insert(place, goal);
            }
        }
    }
    count
}

/// Moves each node towards the middle of its neighbours, as far as its layer's order and gaps allow.
fn place(nodes: &[Node], layers: &[Vec<usize>]) -> Vec<f64> {
    let mut middles = vec![0.0; nodes.len()];
    for layer in layers {
        let wanted = vec![0.0; layer.len()];
        spread(nodes, layer, &wanted, &mut middles);
    }
    for sweep in 0..=MOVE_SWEEPS {
        // The last one goes back, so that chains end up straight.
        let is_last = sweep == MOVE_SWEEPS;
        let forward = sweep % 2 == 0 && !is_last;
        let order: Vec<usize> = if forward {
            (0..layers.len()).collect()
        } else {
            (0..layers.len()).rev().collect()
        };
        // The later ones look at both sides, so that neither end wins.
        let both = sweep >= MOVE_SWEEPS / 2 && !is_last;
        for layer in order {
            let wanted: Vec<f64> = layers[layer]
                .iter()
                .map(|node| {
                    let (before, after) = (&nodes[*node].before, &nodes[*node].after);
                    let sides: Vec<usize> = match (both, forward) {
                        (true, _) => before.iter().chain(after).copied().collect(),
                        (false, true) => before.clone(),
                        (false, false) => after.clone(),
                    };
                    match sides.len() {
                        0 => middles[*node],
                        count => sides.iter().map(|other| middles[*other]).sum::<f64>() / count as f64,
                    }
                })
                .collect();
            spread(nodes, &layers[layer], &wanted, &mut middles);
        }
    }
    middles
}

/// Puts a layer's nodes as close as can be to where they want to be, in their order and with their gaps: those that would
/// overlap form blocks, and a block sits where its members want to be on average.
fn spread(nodes: &[Node], layer: &[usize], wanted: &[f64], middles: &mut [f64]) {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    for (place, node) in layer.iter().enumerate() {
        if place > 0 {
            offset += nodes[layer[place - 1]].height / 2.0 + GAP + nodes[*node].height / 2.0;
        }
        offsets.push(offset);
    }
    // Blocks of neighbours: the sum of where they want to begin, and how many they are.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (want, offset) in wanted.iter().zip(&offsets) {
        let mut block = (want - offset, 1);
        while let Some(previous) = blocks.last() {
            if previous.0 / previous.1 as f64 <= block.0 / block.1 as f64 {
                break;
            }
            block = (block.0 + previous.0, block.1 + previous.1);
            blocks.pop();
        }
        blocks.push(block);
    }
    let starts = blocks
        .iter()
        .flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    for ((node, start), offset) in layer.iter().zip(starts).zip(&offsets) {
        middles[*node] = start + offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_a_straight_line() {
        let input = Input {
            boxes: &[(0, 20.0), (1, 20.0), (2, 20.0)],
            lines: &[(0, 1, 0), (1, 2, 0), (0, 2, 0)],
        };
        let layout = layout(&input);
        assert!((layout.boxes[0] - layout.boxes[1]).abs() < GAP * 2.0);
        assert_eq!(layout.passes[2].len(), 1, "the long line passes the middle layer");
    }

    #[test]
    fn boxes_keep_their_distance() {
        let boxes: Vec<(usize, f64)> = std::iter::once((0, 30.0))
            .chain((0..9).map(|_| (1, 30.0)))
            .collect();
        let lines: Vec<(usize, usize, usize)> = (1..10).map(|to| (0, to, 0)).collect();
        let layout = layout(&Input {
            boxes: &boxes,
            lines: &lines,
        });
        let mut middles = layout.boxes[1..].to_vec();
        middles.sort_by(f64::total_cmp);
        assert!(
            middles
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= 30.0 + GAP - 0.001),
            "{middles:?}"
        );
        assert!(
            (layout.boxes[0] - layout.height / 2.0).abs() < 1.0,
            "the one before sits in the middle"
        );
    }

    #[test]
    fn crossings_are_undone() {
        // 0 and 1 on the left, 2 and 3 on the right; 0 goes to 3 and 1 to 2.
        let input = Input {
            boxes: &[(0, 10.0), (0, 10.0), (1, 10.0), (1, 10.0)],
            lines: &[(0, 3, 0), (1, 2, 0)],
        };
        let layout = layout(&input);
        assert_eq!(
            layout.boxes[0] < layout.boxes[1],
            layout.boxes[3] < layout.boxes[2]
        );
    }
}
