//! The cheapest potentials that cover the demands of a bipartite graph, in whole numbers.
//!
//! `min sum_v w_v y_v` subject to `y_a + y_b >= h_e` for each edge `e = (a, b)`, and `y >= 0`. Its dual sends a flow along
//! the edges, `max sum_e h_e f_e`, that no vertex `v` can take more than `w_v` of. Successive shortest paths solve both: the
//! potentials cover all demands throughout, flow is on tight edges only, and each path uses up weight of a vertex whose
//! potential is not zero. As all numbers are whole, nothing is rounded, each step makes progress, and the optimum is exact.
//!
//! The graph may grow. An edge that is not covered lifts the potential of its first vertex, whose flow is given back, and
//! the next [`Covering::solve`] goes on from there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Not reached by the current search.
const FAR: i64 = i64::MAX;

/// An edge that demands something of its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// The end on the first side.
    pub(super) a: u32,
    /// The end on the second side.
    pub(super) b: u32,
    pub(super) demand: i64,
    pub(super) flow: u64,
}

impl Edge {
    fn other(&self, v: u32) -> u32 {
        if self.a == v { self.b } else { self.a }
    }
}

/// The side of the graph whose potentials are as large as an optimum admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Second,
}

/// The graph, the potentials and the flow.
#[derive(Debug)]
pub(super) struct Covering {
    side: Vec<Side>,
    potential: Vec<i64>,
    /// The weight of a vertex that its flow does not use.
    excess: Vec<u64>,
    edges: Vec<Edge>,
    /// The edges at each vertex.
    at: Vec<Vec<u32>>,
    search: Search,
}

/// What a search for a path needs. Vertices on the source's side are *even*, the others *odd*.
#[derive(Debug)]
struct Search {
    distance: Vec<i64>,
    /// The edge by which a vertex was reached.
    by: Vec<u32>,
    even: Vec<u32>,
    odd: Vec<u32>,
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    /// The length of the shortest path so far, and its end.
    limit: i64,
    end: u32,
}

impl Covering {
    /// Vertices on these sides with these weights, no edge yet. A vertex with an edge must have a weight.
    pub(super) fn new(side: Vec<Side>, weights: Vec<u64>) -> Self {
        let n = side.len();
        let search = Search {
            distance: vec![FAR; n],
            by: vec![0; n],
            even: Vec::new(),
            odd: Vec::new(),
            heap: BinaryHeap::new(),
            limit: FAR,
            end: 0,
        };
        Self { side, potential: vec![0; n], excess: weights, edges: Vec::new(), at: vec![Vec::new(); n], search }
    }

    /// The potentials: a cover at any time, an optimal one after [`Self::solve`].
    pub(super) fn potentials(&self) -> &[i64] {
        &self.potential
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Adds an edge from the first side to the second.
    pub(super) fn add(&mut self, a: u32, b: u32, demand: i64) {
        let number = self.edges.len() as u32;
        self.edges.push(Edge { a, b, demand, flow: 0 });
        for v in [a, b] {
            self.at[v as usize].push(number);
        }
        let needed = demand - self.potential[b as usize];
        if self.potential[a as usize] >= needed {
            return;
        }
        self.potential[a as usize] = needed;
        // The edges that were tight are no longer.
        for &e in &self.at[a as usize] {
            let edge = &mut self.edges[e as usize];
            self.excess[edge.a as usize] += edge.flow;
            self.excess[edge.b as usize] += edge.flow;
            edge.flow = 0;
        }
    }

    /// Makes potentials and flow optimal.
    pub(super) fn solve(&mut self) {
        // A path leaves no weight unused at another vertex of positive potential, so that one pass is enough.
        for source in 0..self.potential.len() as u32 {
            while self.excess[source as usize] > 0 && self.potential[source as usize] > 0 {
                self.find(source);
                self.shift();
                self.augment(source);
            }
        }
    }

    /// Dijkstra's search over the reduced demands, to the nearest odd vertex with unused weight, or to the even vertex
    /// whose potential first falls to zero.
    fn find(&mut self, source: u32) {
        self.search.limit = FAR;
        self.search.heap.clear();
        self.relax(source, 0);
        while let Some(Reverse((distance, v))) = self.search.heap.pop() {
            if distance >= self.search.limit {
                return;
            }
            if distance > self.search.distance[v as usize] {
                continue;
            }
            if self.excess[v as usize] > 0 {
                (self.search.limit, self.search.end) = (distance, v);
                return;
            }
            for k in 0..self.at[v as usize].len() {
                let e = self.at[v as usize][k];
                let edge = self.edges[e as usize];
                let u = edge.other(v);
                if edge.flow > 0 && self.search.distance[u as usize] == FAR {
                    self.search.by[u as usize] = e;
                    self.relax(u, distance);
                }
            }
        }
    }

    /// Looks along the edges of an even vertex.
    fn relax(&mut self, u: u32, distance: i64) {
        let Search { distance: distances, by, even, odd, heap, limit, end } = &mut self.search;
        let own = self.potential[u as usize];
        distances[u as usize] = distance;
        even.push(u);
        if distance + own < *limit {
            (*limit, *end) = (distance + own, u);
        }
        for &e in &self.at[u as usize] {
            let edge = &self.edges[e as usize];
            let v = edge.other(u);
            let reached = distance + own + self.potential[v as usize] - edge.demand;
            if reached < *limit && reached < distances[v as usize] {
                if distances[v as usize] == FAR {
                    odd.push(v);
                }
                distances[v as usize] = reached;
                by[v as usize] = e;
                heap.push(Reverse((reached, v)));
            }
        }
    }

    /// Makes the path's edges tight, and forgets the distances.
    fn shift(&mut self) {
        let Search { distance, even, odd, limit, .. } = &mut self.search;
        for v in even.drain(..) {
            self.potential[v as usize] -= *limit - distance[v as usize];
            distance[v as usize] = FAR;
        }
        for v in odd.drain(..) {
            self.potential[v as usize] += (*limit - distance[v as usize]).max(0);
            distance[v as usize] = FAR;
        }
    }

    /// Sends as much as possible along the path from the source to the end.
    fn augment(&mut self, source: u32) {
        let end = self.search.end;
        if end == source {
            return;
        }
        let ends_odd = self.side[end as usize] != self.side[source as usize];
        let mut amount = self.excess[source as usize];
        if ends_odd {
            amount = amount.min(self.excess[end as usize]);
        }
        let (mut v, mut forward) = (end, ends_odd);
        while v != source {
            let edge = &self.edges[self.search.by[v as usize] as usize];
            if !forward {
                amount = amount.min(edge.flow);
            }
            (v, forward) = (edge.other(v), !forward);
        }
        (v, forward) = (end, ends_odd);
        while v != source {
            let edge = &mut self.edges[self.search.by[v as usize] as usize];
            if forward {
                edge.flow += amount
            } else {
                edge.flow -= amount
            }
            (v, forward) = (edge.other(v), !forward);
        }
        self.excess[source as usize] -= amount;
        if ends_odd {
            self.excess[end as usize] -= amount;
        } else {
            self.excess[end as usize] += amount;
        }
    }

    /// Of all optimal potentials those that are largest on one side, which are the smallest on the other: optimal
    /// potentials are a lattice. They do not depend on the order of the vertices.
    pub(super) fn extreme(&self, large: Side) -> Vec<i64> {
        // How far a potential can rise on the one side or fall on the other: shortest paths from what cannot move.
        let mut room = vec![FAR; self.side.len()];
        let mut heap = BinaryHeap::new();
        for v in 0..self.side.len() {
            let fixed = if self.side[v] != large {
                self.potential[v]
            } else if self.excess[v] > 0 {
                0
            } else {
                continue;
            };
            room[v] = fixed;
            heap.push(Reverse((fixed, v as u32)));
        }
        while let Some(Reverse((distance, v))) = heap.pop() {
            if distance > room[v as usize] {
                continue;
            }
            let rises = self.side[v as usize] == large;
            for &e in &self.at[v as usize] {
                let edge = &self.edges[e as usize];
                if !rises && edge.flow == 0 {
                    continue;
                }
                let u = edge.other(v);
                let reached = distance + self.potential[v as usize] + self.potential[u as usize] - edge.demand;
                if reached < room[u as usize] {
                    room[u as usize] = reached;
                    heap.push(Reverse((reached, u)));
                }
            }
        }
        // A vertex without weight has no edge, and stays where it is.
        let moved = |v: usize| match room[v] {
            FAR => 0,
            room if self.side[v] == large => room,
            room => -room,
        };
        (0..self.side.len()).map(|v| self.potential[v] + moved(v)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEFT: usize = 3;
    const RIGHT: usize = 4;

    fn solved(weights: &[u64], edges: &[(u32, u32, i64)], at_once: bool) -> Covering {
        let side = (0..LEFT + RIGHT).map(|v| if v < LEFT { Side::First } else { Side::Second }).collect();
        let mut graph = Covering::new(side, weights.to_vec());
        for &(a, b, demand) in edges {
            graph.add(a, LEFT as u32 + b, demand);
            if !at_once {
                graph.solve();
            }
        }
        graph.solve();
        graph
    }

    fn cost(weights: &[u64], potentials: &[i64]) -> i64 {
        weights.iter().zip(potentials).map(|(&w, &y)| w as i64 * y).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn the_cover_is_the_cheapest_of_all(
            edges in prop::collection::vec((0_u32..3, 0_u32..4, 1_i64..6), 0..14),
            weights in prop::collection::vec(1_u64..5, 7),
        ) {
            // The potentials of the first side decide the others; whole numbers suffice, as the graph is bipartite.
            let least = |y: [i64; LEFT]| {
                let mut all = [y[0], y[1], y[2], 0, 0, 0, 0];
                for &(a, b, demand) in &edges {
                    let v = LEFT + b as usize;
                    all[v] = all[v].max(demand - y[a as usize]);
                }
                all
            };
            let mut all = Vec::new();
            for code in 0..216 {
                all.push(least([code / 36, code / 6 % 6, code % 6]));
            }
            let best = all.iter().map(|y| cost(&weights, y)).min().unwrap();
            for at_once in [true, false] {
                let graph = solved(&weights, &edges, at_once);
                let y = graph.potentials();
                prop_assert!(y.iter().all(|&v| v >= 0));
                prop_assert!(graph.edges().iter().all(|e| y[e.a as usize] + y[e.b as usize] >= e.demand));
                prop_assert_eq!(cost(&weights, y), best);
                let flow: i64 = graph.edges().iter().map(|e| e.flow as i64 * e.demand).sum();
                prop_assert_eq!(flow, best);
                for v in 0..weights.len() {
                    let used: u64 = graph.at[v].iter().map(|&e| graph.edges[e as usize].flow).sum();
                    prop_assert_eq!(used + graph.excess[v], weights[v]);
                }
                // Each optimum lies between the extremes, which are optimal themselves.
                let (first, second) = (graph.extreme(Side::First), graph.extreme(Side::Second));
                prop_assert_eq!(cost(&weights, &first), best);
                prop_assert_eq!(cost(&weights, &second), best);
                for y in all.iter().filter(|y| cost(&weights, *y) == best) {
                    for v in 0..LEFT {
                        prop_assert!(second[v] <= y[v] && y[v] <= first[v]);
                    }
                }
                prop_assert!(all.iter().any(|y| y[..] == first[..]));
                prop_assert!(all.iter().any(|y| y[..] == second[..]));
            }
        }
    }
}
