//! The largest eigenvalue of a symmetric operator by Lanczos' method, all directions kept orthogonal: where the coordinates are many, some
//! dozens of products take a fraction of the time of all eigenvalues.

use super::dot;

/// Products, at most.
const STEPS: usize = 120;
/// The eigenvalue is known where one more product changes it by no more than this part, so often in a row.
const KNOWN: (f64, usize) = (1e-9, 3);
/// A direction shorter than this part of the product is rounding.
const NOTHING: f64 = 1e-13;

/// The largest eigenvalue of a positive operator of `n` coordinates that writes the product with its first argument into its second. It is
/// approached from below.
pub(super) fn largest(n: usize, mut product: impl FnMut(&[f64], &mut [f64])) -> f64 {
    let mut directions: Vec<Vec<f64>> = vec![even(n)];
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let (mut found, mut known) = (0.0f64, 0);
    for k in 0..STEPS.min(n) {
        let mut next = vec![0.0; n];
        product(&directions[k], &mut next);
        let size = dot(&next, &next).sqrt();
        diagonal.push(dot(&next, &directions[k]));
        // Twice, so that rounding leaves nothing of the others.
        for _ in 0..2 {
            for direction in &directions {
                let along = dot(&next, direction);
                next.iter_mut().zip(direction).for_each(|(v, d)| *v -= along * d);
            }
        }
        let before = found;
        found = top(&diagonal, &beside);
        known = if (found - before).abs() <= KNOWN.0 * found.abs() { known + 1 } else { 0 };
        let length = dot(&next, &next).sqrt();
        if known >= KNOWN.1 || length.is_nan() || length <= NOTHING * size {
            break;
        }
        beside.push(length);
        next.iter_mut().for_each(|v| *v /= length);
        directions.push(next);
    }
    found
}

/// A direction that no structure of a matrix is blind to: the same each time.
fn even(n: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut out: Vec<f64> = (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        })
        .collect();
    let length = dot(&out, &out).sqrt();
    out.iter_mut().for_each(|v| *v /= length);
    out
}

/// The largest eigenvalue of a symmetric tridiagonal matrix, by halving the interval that Gershgorin's circles leave.
fn top(diagonal: &[f64], beside: &[f64]) -> f64 {
    let k = diagonal.len();
    let radius = |i: usize| {
        let left = if i > 0 { beside[i - 1] } else { 0.0 };
        let right = if i + 1 < k { beside[i] } else { 0.0 };
        left + right
    };
    let mut low = diagonal.iter().fold(f64::NEG_INFINITY, |m: f64, d| m.max(*d));
    let mut high = (0..k).fold(low, |m: f64, i| m.max(diagonal[i] + radius(i)));
    // Whether no eigenvalue is above: all pivots of `shift - T` are positive.
    let above_all = |shift: f64| {
        let mut pivot = shift - diagonal[0];
        for i in 1..k {
            if pivot <= 0.0 {
                return false;
            }
            pivot = shift - diagonal[i] - beside[i - 1] * beside[i - 1] / pivot;
        }
        pivot > 0.0
    };
    while high - low > 4.0 * f64::EPSILON * high.abs().max(low.abs()) {
        let middle = 0.5 * (low + high);
        if above_all(middle) {
            high = middle;
        } else {
            low = middle;
        }
        if !(low < 0.5 * (low + high) && 0.5 * (low + high) < high) {
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalue_of_a_tridiagonal_matrix_is_that_of_a_chain() {
        // Of two on the diagonal and ones beside it: 2 + 2 cos(pi / (k + 1)).
        for k in [1, 2, 7, 40] {
            let wanted = 2.0 + 2.0 * (std::f64::consts::PI / (k + 1) as f64).cos();
            let found = top(&vec![2.0; k], &vec![1.0; k - 1]);
            assert!((found - wanted).abs() < 1e-14 * wanted.max(1.0) * 8.0, "{k}: {found} {wanted}");
        }
    }

    #[test]
    fn it_ends_where_the_products_have_few_directions() {
        // One direction of eigenvalue 5, all others zero.
        let n = 300;
        let u = even(n);
        let found = largest(n, |v, out| {
            let along = 5.0 * v[17];
            out.fill(0.0);
            out[17] = along;
        });
        assert!((found - 5.0).abs() < 1e-9 && u.len() == n, "{found}");
        assert_eq!(largest(n, |_, out| out.fill(0.0)), 0.0);
    }
}
