//! A graph of near neighbours in layers (Y. Malkov, D. Yashunin 2016), for the indexes of other programs: hnswlib and usearch search in
//! it. Nothing here does, as every search of this library is exact.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// Points with links to near ones, in layers: all points in the first, ever fewer above.
///
/// ```
/// use lipmetric::neighbours::Graph;
/// use std::ops::ControlFlow;
/// let vectors = [0.0, 1.0, 2.0, 10.0];
/// let graph = Graph::of((&vectors, 1), (16, 200), 0, |_| ControlFlow::Continue(())).unwrap();
/// assert_eq!(graph.links[3][0].first(), Some(&2));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Graph {
    /// Links of a point in each layer above the first, at most; twice as many in the first.
    pub connectivity: usize,
    /// Points that were looked at for each link, about.
    pub effort: usize,
    /// `links[point][layer]`: as many layers as the point is in, the nearest points first.
    pub links: Vec<Vec<Vec<u32>>>,
    /// Where a search begins: a point of the highest layer.
    pub entry: u32,
}

impl Graph {
    /// Layers above the first.
    #[must_use]
    pub fn top(&self) -> usize {
        self.links.get(self.entry as usize).map_or(0, |layers| layers.len() - 1)
    }
}

/// A point and its squared distance to another one; nearer is less.
#[derive(Clone, Copy, PartialEq)]
struct Near {
    squared: f32,
    point: u32,
}

impl Eq for Near {}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        self.squared.total_cmp(&other.squared).then(self.point.cmp(&other.point))
    }
}

/// Partial sums that are added up side by side.
const LANES: usize = 16;

fn squared(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (x, y) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = x.remainder().iter().zip(y.remainder()).map(|(u, v)| (u - v) * (u - v)).sum();
    for (u, v) in x.zip(y) {
        for k in 0..LANES {
            let d = u[k] - v[k];
            sums[k] += d * d;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// A graph in the making.
struct Builder<'a> {
    vectors: &'a [f32],
    width: usize,
    graph: Graph,
    /// The search in which each point was seen last.
    seen: Vec<u32>,
    search: u32,
}

impl Graph {
    /// Of vectors of this many elements, one after the other. Points are taken in their order, and layers drawn from the seed: the same
    /// vectors give the same graph. `go_on` is asked now and then, and ends it: then there is none.
    #[must_use]
    pub fn of(
        (vectors, width): (&[f32], usize),
        (connectivity, effort): (usize, usize),
        seed: u64,
        mut go_on: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Option<Self> {
        /// Points between two questions.
        const EVERY: usize = 256;
        let n = vectors.len() / width.max(1);
        let graph = Self { connectivity, effort, links: Vec::with_capacity(n), entry: 0 };
        let mut builder = Builder { vectors, width, graph, seen: vec![0; n], search: 0 };
        let mut state = seed;
        for point in 0..n {
            if point % EVERY == 0 && go_on(point).is_break() {
                return None;
            }
            let layers = drawn(&mut state, connectivity);
            builder.add(point as u32, layers);
        }
        Some(builder.graph)
    }
}

/// Layers above the first: each with a chance of one in `connectivity`.
fn drawn(state: &mut u64, connectivity: usize) -> usize {
    // SplitMix64.
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let unit = (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    (-unit.ln() / (connectivity.max(2) as f64).ln()) as usize
}

impl Builder<'_> {
    fn vector(&self, point: u32) -> &[f32] {
        &self.vectors[point as usize * self.width..][..self.width]
    }

    fn apart(&self, a: u32, b: u32) -> f32 {
        squared(self.vector(a), self.vector(b))
    }

    fn add(&mut self, point: u32, layers: usize) {
        self.graph.links.push(vec![Vec::new(); layers + 1]);
        if point == 0 {
            return;
        }
        let (top, entry) = (self.graph.top(), self.graph.entry);
        let mut at = Near { squared: self.apart(point, entry), point: entry };
        for layer in (layers + 1..=top).rev() {
            at = self.descend(point, at, layer);
        }
        for layer in (0..=layers.min(top)).rev() {
            let near = self.nearest(point, at, layer);
            at = near[0];
            let chosen = self.spread(near, self.graph.connectivity);
            self.graph.links[point as usize][layer] = chosen.iter().map(|n| n.point).collect();
            chosen.iter().for_each(|n| self.link_back(n, point, layer));
        }
        if layers > top {
            self.graph.entry = point;
        }
    }

    /// Goes on to a nearer point as long as there is one.
    fn descend(&self, query: u32, mut at: Near, layer: usize) -> Near {
        loop {
            let links = self.graph.links[at.point as usize][layer].iter();
            let best = links.map(|&point| Near { squared: self.apart(query, point), point }).min();
            match best.filter(|best| *best < at) {
                Some(best) => at = best,
                None => return at,
            }
        }
    }

    /// About the nearest points in a layer, nearest first: as many as the effort.
    fn nearest(&mut self, query: u32, from: Near, layer: usize) -> Vec<Near> {
        self.search += 1;
        let search = self.search;
        self.seen[from.point as usize] = search;
        self.seen[query as usize] = search;
        let (mut open, mut found) = (BinaryHeap::from([Reverse(from)]), BinaryHeap::from([from]));
        while let Some(Reverse(next)) = open.pop() {
            if found.len() >= self.graph.effort && found.peek().is_some_and(|worst| next > *worst) {
                break;
            }
            for at in 0..self.graph.links[next.point as usize][layer].len() {
                let point = self.graph.links[next.point as usize][layer][at];
                if std::mem::replace(&mut self.seen[point as usize], search) == search {
                    continue;
                }
                let near = Near { squared: self.apart(query, point), point };
                if found.len() < self.graph.effort || found.peek().is_some_and(|worst| near < *worst) {
                    open.push(Reverse(near));
                    found.push(near);
                    if found.len() > self.graph.effort {
                        found.pop();
                    }
                }
            }
        }
        found.into_sorted_vec()
    }

    /// Of points, nearest first, so many that are nearer to the query than to each other: they lie in different directions.
    fn spread(&self, near: Vec<Near>, most: usize) -> Vec<Near> {
        if near.len() < most {
            return near;
        }
        let mut chosen: Vec<Near> = Vec::with_capacity(most);
        for candidate in near {
            if chosen.len() == most {
                break;
            }
            if chosen.iter().all(|c| self.apart(c.point, candidate.point) >= candidate.squared) {
                chosen.push(candidate);
            }
        }
        chosen
    }

    /// Links a point to a new one; where it has too many links, only those in different directions stay.
    fn link_back(&mut self, from: &Near, point: u32, layer: usize) {
        let most = if layer == 0 { 2 * self.graph.connectivity } else { self.graph.connectivity };
        let links = &mut self.graph.links[from.point as usize][layer];
        if links.len() < most {
            links.push(point);
            return;
        }
        let links = std::mem::take(links);
        let near = |&other: &u32| Near { squared: self.apart(from.point, other), point: other };
        let mut all: Vec<Near> = links.iter().map(near).collect();
        all.push(Near { squared: from.squared, point });
        all.sort_unstable();
        let kept = self.spread(all, most);
        self.graph.links[from.point as usize][layer] = kept.into_iter().map(|n| n.point).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many vectors around eight centres.
    fn vectors(n: usize, width: usize) -> Vec<f32> {
        let value = |k: usize| ((k * 7919 + 13) % 10_007) as f32 / 10_007.0 - 0.5;
        (0..n * width).map(|k| 6.0 * value(k / width % 8 * 31 + k % width) + value(3 * k + 1)).collect()
    }

    fn built(vectors: &[f32], width: usize) -> Graph {
        Graph::of((vectors, width), (16, 200), 0, |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn links_are_to_other_points_of_the_layer_and_no_more_than_there_is_room_for() {
        let all = vectors(1500, 7);
        let graph = built(&all, 7);
        assert!(graph.top() >= 1 && graph.links.len() == 1500);
        let top = graph.links.iter().map(|layers| layers.len() - 1).max();
        assert_eq!(top, Some(graph.top()), "a search begins in the highest layer");
        for (point, layers) in graph.links.iter().enumerate() {
            for (layer, links) in layers.iter().enumerate() {
                assert!(links.len() <= if layer == 0 { 32 } else { 16 });
                let unique: std::collections::BTreeSet<&u32> = links.iter().collect();
                assert_eq!(unique.len(), links.len());
                assert!(links.iter().all(|&l| l as usize != point && graph.links[l as usize].len() > layer));
            }
        }
        assert_eq!(built(&all, 7), graph, "the same vectors give the same graph");
    }

    #[test]
    fn a_search_along_the_links_finds_nearly_all_of_the_nearest_points() {
        let (n, asked, width) = (1500, 100, 5);
        let all = vectors(n + asked, width);
        let graph = built(&all[..n * width], width);
        let mut builder =
            Builder { vectors: &all, width, graph: Graph { effort: 50, ..graph }, seen: vec![0; n + asked], search: 0 };
        let mut found = 0;
        for query in n as u32..(n + asked) as u32 {
            let entry = builder.graph.entry;
            let mut at = Near { squared: builder.apart(query, entry), point: entry };
            for layer in (1..=builder.graph.top()).rev() {
                at = builder.descend(query, at, layer);
            }
            let mut truth: Vec<Near> =
                (0..n as u32).map(|point| Near { squared: builder.apart(query, point), point }).collect();
            truth.sort_unstable();
            // Many points are equally near: any ten count that are no farther than the tenth.
            found += builder.nearest(query, at, 0).iter().filter(|n| n.squared <= truth[9].squared).count().min(10);
        }
        assert!(found >= 980, "{found} of 1000");
    }

    #[test]
    fn equal_points_and_one_alone_are_no_trouble_and_it_can_be_ended() {
        let graph = built(&[1.0; 600], 2);
        assert!(graph.links[1..].iter().all(|layers| !layers[0].is_empty()));
        assert_eq!(built(&[1.0, 2.0], 2).links, [vec![Vec::<u32>::new(); built(&[1.0, 2.0], 2).top() + 1]]);
        let end = |done: usize| if done > 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        assert!(Graph::of((&vectors(1500, 2), 2), (16, 200), 0, end).is_none());
    }
}
