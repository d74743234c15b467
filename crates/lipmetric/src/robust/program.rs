//! The nearest point to the origin that satisfies linear inequalities, by the dual active-set method of Goldfarb and Idnani.

/// A constraint `normal . v >= bound` that holds with equality; the normal has length 1.
#[derive(Debug)]
struct Active {
    id: usize,
    normal: Vec<f64>,
    multiplier: f64,
}

/// `min |v|` over the constraints that were added so far. The multipliers are never negative, so that at any time they prove
/// how long `v` must be at least.
#[derive(Debug)]
pub(super) struct Program {
    /// The nearest point.
    pub(super) point: Vec<f64>,
    active: Vec<Active>,
    /// The inner products of the active normals, a row each.
    products: Vec<Vec<f64>>,
}

/// What became of a constraint.
pub(super) enum Added {
    /// The point satisfies it now.
    Moved,
    /// No point satisfies all of them: these multipliers prove it.
    Impossible(Vec<(usize, f64)>),
}

/// A normal whose part outside the span of the active ones has a square below this lies in it.
const DEPENDENT: f64 = 1e-13;

impl Program {
    pub(super) fn new(dimension: usize) -> Self {
        Self { point: vec![0.0; dimension], active: Vec::new(), products: Vec::new() }
    }

    /// The multipliers, each with the constraint's name.
    pub(super) fn multipliers(&self) -> Vec<(usize, f64)> {
        self.active.iter().map(|a| (a.id, a.multiplier)).collect()
    }

    pub(super) fn holds(&self, id: usize) -> bool {
        self.active.iter().any(|a| a.id == id)
    }

    /// Adds `normal . v >= bound`, which the point violates. The normal has length 1.
    pub(super) fn add(&mut self, id: usize, normal: Vec<f64>, bound: f64) -> Added {
        let mut multiplier = 0.0;
        loop {
            let with: Vec<f64> = self.active.iter().map(|a| dot(&a.normal, &normal)).collect();
            let shares = solve(&self.products, &with);
            let mut direction = normal.clone();
            for (active, r) in self.active.iter().zip(&shares) {
                direction.iter_mut().zip(&active.normal).for_each(|(d, n)| *d -= r * n);
            }
            let slope = dot(&direction, &normal);
            let full =
                if slope > DEPENDENT { (bound - dot(&normal, &self.point)).max(0.0) / slope } else { f64::INFINITY };
            let blocked = self.blocked(&shares);
            let step = blocked.map_or(f64::INFINITY, |(_, t)| t).min(full);
            if step == f64::INFINITY {
                let mut proof: Vec<(usize, f64)> =
                    self.active.iter().zip(&shares).map(|(a, r)| (a.id, (-r).max(0.0))).collect();
                proof.push((id, 1.0));
                return Added::Impossible(proof);
            }
            if full < f64::INFINITY {
                self.point.iter_mut().zip(&direction).for_each(|(v, d)| *v += step * d);
            }
            for (active, r) in self.active.iter_mut().zip(&shares) {
                active.multiplier = (active.multiplier - step * r).max(0.0);
            }
            multiplier += step;
            match blocked {
                Some((at, t)) if t < full => self.drop(at),
                _ => {
                    let mut row = with;
                    row.push(1.0);
                    for (old, v) in self.products.iter_mut().zip(&row) {
                        old.push(*v);
                    }
                    self.products.push(row);
                    self.active.push(Active { id, normal, multiplier });
                    return Added::Moved;
                }
            }
        }
    }

    /// The active constraint whose multiplier reaches zero first, and after what step.
    fn blocked(&self, shares: &[f64]) -> Option<(usize, f64)> {
        let falling = self.active.iter().zip(shares).enumerate().filter(|(_, (_, r))| **r > 1e-12);
        falling.map(|(at, (a, r))| (at, a.multiplier / r)).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn drop(&mut self, at: usize) {
        self.active.remove(at);
        self.products.remove(at);
        for row in &mut self.products {
            row.remove(at);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The solution of `A x = b` for the inner products of independent vectors, by Cholesky's factors.
fn solve(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for j in 0..=i {
            let done = if j == i { dot(&row, &row) } else { dot(&row, &factor[j][..j]) };
            let rest = a[i][j] - done;
            row.push(if j == i { rest.max(1e-300).sqrt() } else { rest / factor[j][j] });
        }
        factor.push(row);
    }
    let mut x = b.to_vec();
    for i in 0..n {
        x[i] = (x[i] - dot(&factor[i][..i], &x[..i])) / factor[i][i];
    }
    for i in (0..n).rev() {
        x[i] /= factor[i][i];
        let (head, tail) = x.split_at_mut(i);
        head.iter_mut().zip(&factor[i]).for_each(|(h, f)| *h -= f * tail[0]);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(constraints: &[([f64; 2], f64)]) -> Option<Program> {
        let mut program = Program::new(2);
        for _ in 0..20 {
            let worst = constraints
                .iter()
                .enumerate()
                .map(|(id, (n, b))| (id, b - dot(n, &program.point)))
                .max_by(|a, b| a.1.total_cmp(&b.1))?;
            if worst.1 <= 1e-12 {
                return Some(program);
            }
            let (normal, bound) = &constraints[worst.0];
            if let Added::Impossible(proof) = program.add(worst.0, normal.to_vec(), *bound) {
                let sum = |k: usize| proof.iter().map(|(id, y)| y * constraints[*id].0[k]).sum::<f64>();
                assert!(sum(0).abs() < 1e-9 && sum(1).abs() < 1e-9);
                assert!(proof.iter().map(|(id, y)| y * constraints[*id].1).sum::<f64>() > 0.0);
                return None;
            }
        }
        panic!("the active set does not settle");
    }

    #[test]
    fn the_nearest_point_of_a_corner_and_of_a_side_is_found() {
        let s = 0.5_f64.sqrt();
        let corner = solved(&[([1.0, 0.0], 1.0), ([0.0, 1.0], 2.0), ([s, s], 0.5)]).unwrap();
        assert!((corner.point[0] - 1.0).abs() < 1e-12 && (corner.point[1] - 2.0).abs() < 1e-12);
        assert!(corner.multipliers().iter().all(|(_, l)| *l >= 0.0));
        // A constraint that is active at first and not in the end.
        let side = solved(&[([s, s], 4.0 * s), ([1.0, 0.0], 0.1), ([-s, s], -1.0)]).unwrap();
        assert!((side.point[0] - 2.0).abs() < 1e-12 && (side.point[1] - 2.0).abs() < 1e-12);
        assert!(solved(&[([1.0, 0.0], 1.0), ([-1.0, 0.0], 1.0)]).is_none());
        assert!(solved(&[([1.0, 0.0], 1.0), ([-s, s], 1.0), ([-s, -s], 1.0)]).is_none());
    }
}
