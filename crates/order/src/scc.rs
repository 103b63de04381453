//! Cycles in a directed graph: Tarjan's strongly connected components, with a stack of its own so that long chains
//! cannot overflow ours.

/// The parts of a graph in which every node reaches every other, each sorted, in order of their first node. Single nodes
/// count only if they have an edge to themselves.
pub fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search::new(edges);
    for node in 0..edges.len() {
        search.visit(node);
    }
    search.parts.sort();
    search.parts
}

/// A shortest way from a node back to itself, inside one part of the graph: the nodes on it, beginning with `start`.
/// Of several, the one whose edges are listed first.
pub(crate) fn shortest_cycle(edges: &[Vec<usize>], start: usize, within: &[usize]) -> Vec<usize> {
    let mut came_from: Vec<Option<usize>> = vec![None; edges.len()];
    let mut open = std::collections::VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in &edges[node] {
            if *next == start {
                let mut way = vec![node];
                while let Some(previous) = came_from[way[way.len() - 1]] {
                    way.push(previous);
                }
                way.reverse();
                return way;
            }
            if came_from[*next].is_none() && within.binary_search(next).is_ok() {
                came_from[*next] = Some(node);
                open.push_back(*next);
            }
        }
    }
    Vec::new()
}

struct Search<'graph> {
    edges: &'graph [Vec<usize>],
    /// When each node was first met, from 1; 0 if it was not.
    met_at: Vec<usize>,
    /// The earliest node on the current path that each node reaches.
    low: Vec<usize>,
    on_path: Vec<bool>,
    path: Vec<usize>,
    clock: usize,
    parts: Vec<Vec<usize>>,
}

impl<'graph> Search<'graph> {
    fn new(edges: &'graph [Vec<usize>]) -> Search<'graph> {
        let size = edges.len();
        Search {
            edges,
            met_at: vec![0; size],
            low: vec![0; size],
            on_path: vec![false; size],
            path: Vec::new(),
            clock: 0,
            parts: Vec::new(),
        }
    }

    fn visit(&mut self, start: usize) {
        if self.met_at[start] != 0 {
            return;
        }
        self.enter(start);
        let mut calls = vec![(start, 0)];
        while let Some((node, next)) = calls.pop() {
            let Some(target) = self.edges[node].get(next).copied() else {
                self.leave(node);
                if let Some((caller, _)) = calls.last() {
                    self.low[*caller] = self.low[*caller].min(self.low[node]);
                }
                continue;
            };
            calls.push((node, next + 1));
            if self.met_at[target] == 0 {
                self.enter(target);
                calls.push((target, 0));
            } else if self.on_path[target] {
                self.low[node] = self.low[node].min(self.met_at[target]);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.clock += 1;
        self.met_at[node] = self.clock;
        self.low[node] = self.clock;
        self.on_path[node] = true;
        self.path.push(node);
    }

    fn leave(&mut self, node: usize) {
        if self.low[node] != self.met_at[node] {
            return;
        }
        let start = self
            .path
            .iter()
            .rposition(|other| *other == node)
            .unwrap_or_default();
        let mut part = self.path.split_off(start);
        for member in &part {
            self.on_path[*member] = false;
        }
        part.sort_unstable();
        if part.len() > 1 || self.edges[node].contains(&node) {
            self.parts.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_once_and_long_chains_are_fine() {
        let edges = [vec![1], vec![2], vec![1], vec![3], vec![0]].map(Vec::from);
        assert_eq!(cycles(&edges), [vec![1, 2], vec![3]]);
        let chain: Vec<Vec<usize>> = (0..200_000)
            .map(|node| if node == 0 { vec![] } else { vec![node - 1] })
            .collect();
        assert!(cycles(&chain).is_empty());
    }

    #[test]
    fn the_shortest_cycle_is_shown() {
        let edges = [vec![1, 3], vec![2], vec![0], vec![0]].map(Vec::from);
        assert_eq!(shortest_cycle(&edges, 0, &[0, 1, 2, 3]), [0, 3]);
        assert_eq!(shortest_cycle(&[vec![0]], 0, &[0]), [0]);
    }
}
