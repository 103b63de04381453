//! Layers: how many tiers come before each tier at least.

use crate::TierGraph;
use crate::tiers::TierIndex;

/// The layer of each tier, by index: the longest way to it. An edge that closes a circle is left out, those that Flux
/// does not keep first.
pub(super) fn of(tiers: &TierGraph, edges: impl Iterator<Item = (TierIndex, TierIndex)>) -> Vec<usize> {
    let count = tiers.indices().count();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    let is_kept = |(from, to): &(TierIndex, TierIndex)| {
        let node = tiers.node(*to);
        node.depends_on.contains(from) || node.parent == Some(*from)
    };
    let (kept, loose): (Vec<_>, Vec<_>) = edges.partition(is_kept);
    for (from, to) in &kept {
        next[from.position()].push(to.position());
    }
    let mut part = vec![usize::MAX; count];
    for (index, circle) in crate::scc::cycles(&next).iter().enumerate() {
        circle.iter().for_each(|tier| part[*tier] = index);
    }
    for (from, followers) in next.iter_mut().enumerate() {
        followers.retain(|to| part[from] == usize::MAX || part[from] != part[*to]);
    }
    for (from, to) in loose {
        if !reaches(&next, to.position(), from.position()) {
            next[from.position()].push(to.position());
        }
    }
    longest_ways(&next)
}

fn reaches(next: &[Vec<usize>], start: usize, goal: usize) -> bool {
    let mut seen = vec![false; next.len()];
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if node == goal {
            return true;
        }
        if !std::mem::replace(&mut seen[node], true) {
            open.extend(&next[node]);
        }
    }
    false
}

/// The length of the longest way to each node of a graph without circles.
fn longest_ways(next: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![0_usize; next.len()];
    next.iter().flatten().for_each(|to| before[*to] += 1);
    let mut open: Vec<usize> = (0..next.len()).filter(|node| before[*node] == 0).collect();
    let mut layers = vec![0; next.len()];
    while let Some(node) = open.pop() {
        for to in &next[node] {
            layers[*to] = layers[*to].max(layers[node] + 1);
            before[*to] -= 1;
            if before[*to] == 0 {
                open.push(*to);
            }
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_way_counts() {
        assert_eq!(
            longest_ways(&[vec![1, 2], vec![2], vec![], vec![2]]),
            [0, 1, 2, 0]
        );
    }

    #[test]
    fn a_way_back_is_seen() {
        let next = [vec![1], vec![2], vec![]];
        assert!(reaches(&next, 0, 2));
        assert!(!reaches(&next, 2, 0));
    }
}
