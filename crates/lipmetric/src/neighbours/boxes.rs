//! A k-d tree whose leaves are blocks of lanes: bounds rule out whole nodes, a leaf is one vector loop.
//!
//! Bounds are exact in floating point: a box distance adds the same terms in the same order as the distance of a
//! pair does, and rounding is monotone, so that it can never exceed the computed distance of a pair inside.

use crate::Matrix;

/// Points per leaf.
pub(crate) const LEAF: usize = 32;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// The right child; the left one follows its parent directly. Zero marks a leaf.
    pub(crate) right: u32,
    /// The block of a leaf.
    pub(crate) block: u32,
    /// The smallest and the largest value that the points below carry.
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

/// Points with a value each, in boxes. A leaf that is not full repeats its last point.
#[derive(Debug)]
pub(crate) struct Boxes {
    cols: usize,
    pub(crate) nodes: Vec<Node>,
    boxes: Vec<f64>,
    lanes: Vec<f64>,
    ids: Vec<usize>,
    values: Vec<f64>,
}

impl Boxes {
    /// A tree of the rows `ids` of `rows`, with the value `values[k]` for row `ids[k]`.
    pub(crate) fn new(rows: &Matrix, ids: &[usize], values: &[f64]) -> Self {
        let mut tree = Self {
            cols: rows.cols(),
            nodes: Vec::new(),
            boxes: Vec::new(),
            lanes: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
        };
        let mut order: Vec<(usize, f64)> = ids.iter().copied().zip(values.iter().copied()).collect();
        if !order.is_empty() {
            tree.build(rows, &mut order);
        }
        tree
    }

    fn build(&mut self, rows: &Matrix, part: &mut [(usize, f64)]) {
        let at = self.nodes.len();
        let lo = part.iter().fold(f64::INFINITY, |m, e| m.min(e.1));
        let hi = part.iter().fold(f64::NEG_INFINITY, |m, e| m.max(e.1));
        self.nodes.push(Node { right: 0, block: 0, lo, hi });
        let widest = self.push_box(rows, part);
        if part.len() <= LEAF {
            self.nodes[at].block = self.push_block(rows, part);
            return;
        }
        // Whole leaves to the left, so that all blocks but the last are full.
        let left = LEAF * part.len().div_ceil(LEAF).div_ceil(2);
        let left = if left < part.len() { left } else { part.len() / 2 };
        // Without coordinates there is nothing to sort by but the row numbers.
        let key = |i: usize| rows.row(i).get(widest).copied().unwrap_or(0.0);
        part.select_nth_unstable_by(left, |a, b| key(a.0).total_cmp(&key(b.0)).then(a.0.cmp(&b.0)));
        let (near, far) = part.split_at_mut(left);
        self.build(rows, near);
        self.nodes[at].right = self.nodes.len() as u32;
        self.build(rows, far);
    }

    /// Appends the box of these points, all lower ends before all upper ends; gives its widest side.
    fn push_box(&mut self, rows: &Matrix, part: &[(usize, f64)]) -> usize {
        let p = self.cols;
        let start = self.boxes.len();
        self.boxes.extend_from_slice(rows.row(part[0].0));
        self.boxes.extend_from_slice(rows.row(part[0].0));
        let (lower, upper) = self.boxes[start..].split_at_mut(p);
        for &(i, _) in part {
            for (k, &v) in rows.row(i).iter().enumerate() {
                lower[k] = lower[k].min(v);
                upper[k] = upper[k].max(v);
            }
        }
        let mut widest = 0;
        for k in 1..p {
            if upper[k] - lower[k] > upper[widest] - lower[widest] {
                widest = k;
            }
        }
        widest
    }

    fn push_block(&mut self, rows: &Matrix, part: &[(usize, f64)]) -> u32 {
        let block = self.ids.len() / LEAF;
        for lane in 0..LEAF {
            let (i, v) = part[lane.min(part.len() - 1)];
            self.ids.push(i);
            self.values.push(v);
        }
        for k in 0..self.cols {
            for lane in 0..LEAF {
                self.lanes.push(rows[(part[lane.min(part.len() - 1)].0, k)]);
            }
        }
        block as u32
    }

    /// The row numbers of a leaf's lanes.
    #[inline(always)]
    pub(crate) fn ids(&self, block: usize) -> &[usize] {
        &self.ids[block * LEAF..(block + 1) * LEAF]
    }

    /// The values of a leaf's lanes.
    #[inline(always)]
    pub(crate) fn values(&self, block: usize) -> &[f64] {
        &self.values[block * LEAF..(block + 1) * LEAF]
    }

    /// The squared distances from a point to a leaf's lanes.
    #[inline(always)]
    pub(crate) fn squared(&self, block: usize, q: &[f64]) -> [f64; LEAF] {
        let size = self.cols * LEAF;
        let mut sums = [0.0; LEAF];
        for (lanes, &v) in self.lanes[block * size..(block + 1) * size].as_chunks::<LEAF>().0.iter().zip(q) {
            for l in 0..LEAF {
                let d = lanes[l] - v;
                sums[l] += d * d;
            }
        }
        sums
    }

    /// The lower and the upper corner of a node's box.
    #[inline(always)]
    fn corners(&self, node: usize) -> (&[f64], &[f64]) {
        self.boxes[node * 2 * self.cols..(node + 1) * 2 * self.cols].split_at(self.cols)
    }

    /// The squared distance from a point to a node's box: no point of the node is nearer.
    #[inline(always)]
    pub(crate) fn squared_to_box(&self, node: usize, q: &[f64]) -> f64 {
        let (lower, upper) = self.corners(node);
        let mut sum = 0.0;
        for (k, &v) in q.iter().enumerate() {
            let d = (lower[k] - v).max(v - upper[k]).max(0.0);
            sum += d * d;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::super::distance::squared_distance;
    use super::*;

    #[test]
    fn every_point_is_in_one_leaf_and_no_box_is_farther_than_a_point_in_it() {
        let rows = Matrix::from_vec(333, 3, (0..999).map(|k| f64::from(k * k % 101) / 7.0).collect()).unwrap();
        let ids: Vec<usize> = (0..333).filter(|i| i % 4 != 1).collect();
        let values: Vec<f64> = ids.iter().map(|&i| i as f64).collect();
        let tree = Boxes::new(&rows, &ids, &values);
        let mut seen: Vec<usize> = (0..ids.len().div_ceil(LEAF)).flat_map(|b| tree.ids(b).to_vec()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, ids);
        let q = [3.3, 9.1, 14.0];
        for (k, node) in tree.nodes.iter().enumerate() {
            if node.right == 0 {
                let squared = tree.squared(node.block as usize, &q);
                for (lane, &i) in tree.ids(node.block as usize).iter().enumerate() {
                    assert_eq!(squared[lane], squared_distance(rows.row(i), &q));
                    assert!(tree.squared_to_box(k, &q) <= squared[lane]);
                    assert!(node.lo <= i as f64 && i as f64 <= node.hi);
                }
            }
        }
    }
}
