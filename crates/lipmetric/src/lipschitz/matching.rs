//! Maximum matchings in bipartite graphs: by Hopcroft and Karp for a whole graph, and one that follows a growing graph.
//!
//! By König's theorem the size of a maximum matching is that of a minimum vertex cover.

use std::collections::VecDeque;

const FREE: usize = usize::MAX;

/// A minimum vertex cover of a bipartite graph, as flags for the left and for the right vertices.
pub(crate) struct VertexCover {
    pub(crate) left: Vec<bool>,
    pub(crate) right: Vec<bool>,
}

/// The minimum vertex cover of the graph with these edges (left, right), by a Hopcroft-Karp matching.
pub(crate) fn minimum_vertex_cover(left: usize, right: usize, edges: &[(usize, usize)]) -> VertexCover {
    let mut graph = HopcroftKarp::new(left, right, edges);
    graph.solve();
    graph.cover()
}

struct HopcroftKarp {
    starts: Vec<usize>,
    targets: Vec<usize>,
    mate_left: Vec<usize>,
    mate_right: Vec<usize>,
    level: Vec<usize>,
}

impl HopcroftKarp {
    fn new(left: usize, right: usize, edges: &[(usize, usize)]) -> Self {
        let mut starts = vec![0; left + 1];
        for &(u, _) in edges {
            starts[u + 1] += 1;
        }
        for u in 0..left {
            starts[u + 1] += starts[u];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; edges.len()];
        for &(u, v) in edges {
            targets[next[u]] = v;
            next[u] += 1;
        }
        Self { starts, targets, mate_left: vec![FREE; left], mate_right: vec![FREE; right], level: vec![FREE; left] }
    }

    fn solve(&mut self) {
        while self.layer() {
            let mut cursor = self.starts.clone();
            for root in 0..self.mate_left.len() {
                if self.mate_left[root] == FREE {
                    self.augment(root, &mut cursor);
                }
            }
        }
    }

    /// Breadth first from the free left vertices; whether a free right vertex was met.
    fn layer(&mut self) -> bool {
        let mut queue = VecDeque::new();
        for u in 0..self.mate_left.len() {
            self.level[u] = if self.mate_left[u] == FREE { 0 } else { FREE };
            if self.level[u] == 0 {
                queue.push_back(u);
            }
        }
        let mut met = false;
        while let Some(u) = queue.pop_front() {
            for &v in &self.targets[self.starts[u]..self.starts[u + 1]] {
                match self.mate_right[v] {
                    FREE => met = true,
                    w if self.level[w] == FREE => {
                        self.level[w] = self.level[u] + 1;
                        queue.push_back(w);
                    }
                    _ => {}
                }
            }
        }
        met
    }

    /// Depth first along the layers, without recursion; each edge is tried once per phase.
    fn augment(&mut self, root: usize, cursor: &mut [usize]) {
        let mut path = vec![root];
        while let Some(&u) = path.last() {
            if cursor[u] == self.starts[u + 1] {
                self.level[u] = FREE;
                path.pop();
                if let Some(&before) = path.last() {
                    cursor[before] += 1;
                }
                continue;
            }
            let v = self.targets[cursor[u]];
            match self.mate_right[v] {
                FREE => {
                    for &u in &path {
                        let v = self.targets[cursor[u]];
                        self.mate_left[u] = v;
                        self.mate_right[v] = u;
                    }
                    return;
                }
                w if self.level[w] != FREE && self.level[w] == self.level[u] + 1 => path.push(w),
                _ => cursor[u] += 1,
            }
        }
    }

    /// König: what alternating paths from free left vertices reach leaves the cover on the left and joins it on the right.
    fn cover(mut self) -> VertexCover {
        self.layer();
        let left: Vec<bool> = self.level.iter().map(|&l| l == FREE).collect();
        let mut right = vec![false; self.mate_right.len()];
        for u in (0..left.len()).filter(|&u| !left[u]) {
            for &v in &self.targets[self.starts[u]..self.starts[u + 1]] {
                right[v] = true;
            }
        }
        VertexCover { left, right }
    }
}

/// A maximum matching of a graph that grows edge by edge.
///
/// It knows which left vertices alternating paths from free left vertices reach, and from which right vertices they
/// reach a free right one: a new edge enlarges the matching exactly if it joins the two, and else enlarges them.
pub(crate) struct Growing {
    from_left: Vec<Vec<usize>>,
    from_right: Vec<Vec<usize>>,
    mate_left: Vec<usize>,
    mate_right: Vec<usize>,
    reached: Vec<bool>,
    reaching: Vec<bool>,
    size: usize,
}

impl Growing {
    pub(crate) fn new(left: usize, right: usize) -> Self {
        Self {
            from_left: vec![Vec::new(); left],
            from_right: vec![Vec::new(); right],
            mate_left: vec![FREE; left],
            mate_right: vec![FREE; right],
            reached: vec![true; left],
            reaching: vec![true; right],
            size: 0,
        }
    }

    /// The size of the matching, which is that of a minimum vertex cover.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether an edge between these would enlarge the matching.
    pub(crate) fn enlarges(&self, u: usize, v: usize) -> bool {
        self.reached[u] && self.reaching[v]
    }

    pub(crate) fn add(&mut self, u: usize, v: usize) {
        let enlarges = self.enlarges(u, v);
        self.from_left[u].push(v);
        self.from_right[v].push(u);
        if enlarges {
            self.augment();
            self.size += 1;
            self.restart();
        } else if self.reached[u] {
            self.reach_from(vec![u]);
        } else if self.reaching[v] {
            self.reach_to(vec![v]);
        }
    }

    /// One augmenting path, breadth first.
    fn augment(&mut self) {
        let mut before = vec![FREE; self.mate_right.len()];
        let mut queue: VecDeque<usize> = (0..self.mate_left.len()).filter(|&u| self.mate_left[u] == FREE).collect();
        while let Some(u) = queue.pop_front() {
            for &v in &self.from_left[u] {
                if before[v] != FREE || self.mate_left[u] == v {
                    continue;
                }
                before[v] = u;
                match self.mate_right[v] {
                    FREE => return self.flip(v, &before),
                    w => queue.push_back(w),
                }
            }
        }
    }

    fn flip(&mut self, end: usize, before: &[usize]) {
        let mut v = end;
        while v != FREE {
            let u = before[v];
            let next = self.mate_left[u];
            self.mate_left[u] = v;
            self.mate_right[v] = u;
            v = next;
        }
    }

    fn restart(&mut self) {
        self.reached = self.mate_left.iter().map(|&m| m == FREE).collect();
        self.reaching = self.mate_right.iter().map(|&m| m == FREE).collect();
        self.reach_from((0..self.mate_left.len()).filter(|&u| self.mate_left[u] == FREE).collect());
        self.reach_to((0..self.mate_right.len()).filter(|&v| self.mate_right[v] == FREE).collect());
    }

    fn reach_from(&mut self, mut work: Vec<usize>) {
        while let Some(u) = work.pop() {
            for &v in &self.from_left[u] {
                let w = self.mate_right[v];
                if w != FREE && !self.reached[w] {
                    self.reached[w] = true;
                    work.push(w);
                }
            }
        }
    }

    fn reach_to(&mut self, mut work: Vec<usize>) {
        while let Some(v) = work.pop() {
            for &u in &self.from_right[v] {
                let w = self.mate_left[u];
                if w != FREE && !self.reaching[w] {
                    self.reaching[w] = true;
                    work.push(w);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The smallest cover by trying all sets of left vertices.
    fn smallest_cover(left: usize, right: usize, edges: &[(usize, usize)]) -> usize {
        (0..1_usize << left)
            .map(|set| {
                let mut needed = vec![false; right];
                edges.iter().filter(|e| set >> e.0 & 1 == 0).for_each(|e| needed[e.1] = true);
                set.count_ones() as usize + needed.iter().filter(|&&n| n).count()
            })
            .min()
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn both_matchings_have_the_size_of_the_smallest_cover(edges in prop::collection::vec((0_usize..7, 0_usize..8), 0..30)) {
            let mut growing = Growing::new(7, 8);
            for (k, &(u, v)) in edges.iter().enumerate() {
                let before = growing.size();
                let promised = growing.enlarges(u, v);
                growing.add(u, v);
                prop_assert_eq!(growing.size(), before + usize::from(promised));
                prop_assert_eq!(growing.size(), smallest_cover(7, 8, &edges[..=k]));
            }
            let cover = minimum_vertex_cover(7, 8, &edges);
            prop_assert!(edges.iter().all(|&(u, v)| cover.left[u] || cover.right[v]));
            let size = cover.left.iter().chain(&cover.right).filter(|&&c| c).count();
            prop_assert_eq!(size, smallest_cover(7, 8, &edges));
        }
    }

    #[test]
    fn a_long_chain_needs_every_second_vertex() {
        let n = 2000;
        let edges: Vec<(usize, usize)> = (0..n).flat_map(|i| [(i, i), (i, (i + 1).min(n - 1))]).collect();
        let cover = minimum_vertex_cover(n, n, &edges);
        assert_eq!(cover.left.iter().chain(&cover.right).filter(|&&c| c).count(), n);
    }
}
