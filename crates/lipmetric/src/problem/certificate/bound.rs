//! A certified lower bound from any multipliers.

use crate::linalg;
use crate::{Matrix, Result};

/// Parts of `eta` that are tried for the mean of all pairs; the best is refined.
const PARTS: [f64; 9] = [0.0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5];
/// Steps of that refinement ...
const REFINE: usize = 12;
/// ... and with more than [`LARGE`] coordinates, where each takes an eigendecomposition of noticeable cost.
const REFINE_LARGE: usize = 4;
/// See [`REFINE_LARGE`].
const LARGE: usize = 150;
/// The least part of `eta` that the refinement goes down to: below it rounding decides.
const LEAST_PART: f64 = 1e-10;
/// Where golden-section search looks inside its interval.
const GOLDEN: (f64, f64) = (0.382, 0.618);
/// What multipliers are scaled down by until they are feasible beyond doubt.
const LESS: [f64; 14] = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5];
/// What elements and eigenvalues of whitened sums may be off by, relatively and per coordinate: some hundred roundings.
const ROUNDING: f64 = 1e-13;
/// What sums over all pairs, taken in tiles, may be off by: some roundings of the sum of the sizes of their terms.
const SUMMED: f64 = 16.0;
/// A few roundings: of a difference of two coordinates, of an eigenvalue relative to the norm, half of those of a pivot.
const FEW: f64 = 4.0;

/// Sums over multipliers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Multipliers<'a> {
    /// `sum lambda A`.
    pub(crate) push: &'a Matrix,
    /// `sum lambda`.
    pub(crate) total: f64,
    /// `sum eta A`, with `sum eta = c`.
    pub(crate) pull: &'a Matrix,
    /// The largest scale of `lambda` that its own bounds allow, at most one: with a slack per row the least
    /// `w_i / sum_j lambda_ij`.
    pub(crate) most: f64,
}

/// What `eta` becomes: a part of it, and something for the mean of all pairs that bound the diameter, which has full rank
/// where `sum eta A` may have not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Mix {
    /// What `eta` is multiplied by.
    pub(crate) kept: f64,
    /// The multiplier of the mean pair.
    pub(crate) mean: f64,
}

impl Mix {
    /// A part of `c` goes to the mean pair.
    pub(crate) fn part(part: f64, c: f64) -> Self {
        Self { kept: 1.0 - part, mean: part * c }
    }

    /// `sum eta A` after it.
    fn of(self, pull: &Matrix, mean: &Matrix) -> Matrix {
        let mut out = pull.clone();
        out.as_mut_slice().iter_mut().for_each(|v| *v *= self.kept);
        linalg::add_scaled(&mut out, self.mean, mean);
        out
    }
}

/// A certified lower bound of the objective.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Bound {
    /// The bound: `2 scale sum lambda`, and the anchor's term where there is one.
    pub(crate) value: f64,
    /// What `lambda` is to be scaled by.
    pub(crate) scale: f64,
    /// What `eta` is to become.
    pub(crate) mix: Mix,
}

impl Multipliers<'_> {
    /// What they prove after a mix, scaled as far as they stay feasible. `anchor` is `(gamma, M_0)` of
    /// `(gamma / 2) |M - M_0|^2` in the objective.
    pub(crate) fn bound(
        &self,
        mean: &Matrix,
        mix: Mix,
        allowance: f64,
        anchor: Option<(f64, &Matrix)>,
    ) -> Result<Bound> {
        let pull = mix.of(self.pull, mean);
        let scale = feasible_scale(self.push, &pull, self.most, allowance)?;
        let Some((gamma, reference)) = anchor else {
            return Ok(Bound { value: 2.0 * scale * self.total, scale, mix });
        };
        // With an anchor the dual point need not make `pull - scale push` positive semidefinite.
        let mut best = Bound { value: f64::NEG_INFINITY, scale, mix };
        for scale in [scale, self.most] {
            let value = 2.0 * scale * self.total + conjugate(&pull, self.push, scale, gamma, reference)?;
            if value > best.value {
                best = Bound { value, scale, mix };
            }
        }
        Ok(best)
    }
}

/// The least value over all positive semidefinite `M` of `<pull - scale push, M> + (gamma / 2) |M - M_0|^2`.
fn conjugate(pull: &Matrix, push: &Matrix, scale: f64, gamma: f64, reference: &Matrix) -> Result<f64> {
    let mut moved = pull.clone();
    linalg::add_scaled(&mut moved, -scale, push);
    moved.as_mut_slice().iter_mut().for_each(|v| *v /= -gamma);
    linalg::add_scaled(&mut moved, 1.0, reference);
    let positive: f64 = linalg::symmetric_eigenvalues(&moved)?.iter().map(|v| v.max(0.0).powi(2)).sum();
    Ok(0.5 * gamma * (linalg::inner(reference, reference) - positive))
}

/// The best bound over the parts of `eta` that go to the mean of all pairs, confirmed by a factorisation. `reach` is the largest
/// size of each coordinate of the points: differences of points come from numbers as large as that.
pub(crate) fn certify(multipliers: &Multipliers<'_>, mean: &Matrix, c: f64, reach: &[f64]) -> Result<Bound> {
    confirmed(multipliers, mean, c, Known { reach, mapped: false })
}

/// The same for sums that were taken on the features and mapped to the coordinates then: what cancels there is that of the sums.
pub(crate) fn certify_mapped(multipliers: &Multipliers<'_>, mean: &Matrix, c: f64, reach: &[f64]) -> Result<Bound> {
    confirmed(multipliers, mean, c, Known { reach, mapped: true })
}

/// What is known of the rounding of sums over pairs.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The largest size of each coordinate: differences come from numbers as large as that.
    pub(crate) reach: &'a [f64],
    /// Whether sums were taken first and differences after it, so that what cancels is that of the sums.
    pub(crate) mapped: bool,
}

fn confirmed(multipliers: &Multipliers<'_>, mean: &Matrix, c: f64, known: Known<'_>) -> Result<Bound> {
    let best = best_part(multipliers, mean, c)?;
    let pull = best.mix.of(multipliers.pull, mean);
    let weight = c + multipliers.total;
    let fits = |scale: f64| is_surely_positive(&pull, multipliers.push, scale, weight, known);
    // Eigenvalues of an ill-conditioned pair of matrices may be off by more than any allowance: what counts is this test.
    let scale = LESS.iter().map(|less| best.scale * (1.0 - less)).find(|s| fits(*s)).unwrap_or(0.0);
    // The sum of the multipliers is rounded, too.
    Ok(Bound { value: 2.0 * scale * multipliers.total * (1.0 - ROUNDING), scale, ..best })
}

/// Whether `pull - scale push` is positive definite whatever rounding has done to its elements and does in a factorisation. It is
/// scaled so that the diagonal of the sum of both is one; pivots that stay positive after a shift then prove it (S. M. Rump,
/// Verification of positive definiteness, 2006). `weight` is the sum of all multipliers.
pub(crate) fn is_surely_positive(pull: &Matrix, push: &Matrix, scale: f64, weight: f64, known: Known<'_>) -> bool {
    let p = pull.rows();
    let size: Vec<f64> = (0..p).map(|k| (pull[(k, k)] + scale * push[(k, k)]).sqrt()).collect();
    if !size.iter().all(|s| *s > 0.0 && s.is_finite()) {
        return false;
    }
    // What the differences, of coordinates rounded at their size, may be off by.
    let longest = known.reach.iter().zip(&size).map(|(r, s)| r * weight.sqrt() / s).fold(0.0, f64::max);
    let off = FEW * f64::EPSILON * longest;
    // What elements of sums, of products as large as that, may be off by.
    let sums = if known.mapped { SUMMED * f64::EPSILON * longest * longest } else { 0.0 };
    let shift = p as f64 * (ROUNDING + 2.0 * FEW * p as f64 * f64::EPSILON + 2.0 * off + off * off + sums);
    let mut left = Matrix::zeros(p, p);
    for r in 0..p {
        for c in 0..p {
            left[(r, c)] = (pull[(r, c)] - scale * push[(r, c)]) / (size[r] * size[c]);
        }
        left[(r, r)] -= shift;
    }
    linalg::Cholesky::of(&left).is_some()
}

fn best_part(multipliers: &Multipliers<'_>, mean: &Matrix, c: f64) -> Result<Bound> {
    if multipliers.total.is_nan() || multipliers.total <= 0.0 {
        return Ok(Bound::default());
    }
    let allowance = ROUNDING * mean.rows() as f64;
    let at = |part: f64| multipliers.bound(mean, Mix::part(part, c), allowance, None);
    let mut best = Bound::default();
    let mut position = 0;
    for (k, &part) in PARTS.iter().enumerate() {
        let bound = at(part)?;
        if bound.value > best.value {
            (best, position) = (bound, k);
        }
        // The scaling is concave in the part: once it falls it goes on falling.
        if best.scale >= multipliers.most || (k > position && best.value > 0.0) {
            break;
        }
    }
    if best.value <= 0.0 || best.scale >= multipliers.most {
        return Ok(best);
    }
    let (mut low, mut high) =
        (PARTS[position.saturating_sub(1)].max(LEAST_PART).ln(), PARTS[(position + 1).min(PARTS.len() - 1)].ln());
    for _ in 0..if mean.rows() > LARGE { REFINE_LARGE } else { REFINE } {
        let (a, b) = (low + (high - low) * GOLDEN.0, low + (high - low) * GOLDEN.1);
        let (first, second) = (at(a.exp())?, at(b.exp())?);
        if first.value >= second.value {
            high = b;
        } else {
            low = a;
        }
        for bound in [first, second] {
            if bound.value > best.value {
                best = bound;
            }
        }
    }
    Ok(best)
}

/// The largest `s <= most` with `s push <= pull` in the order of matrices; zero where there is none, which is so where `pull` is
/// not positive definite. Elements are sums of products that may be off by the part `allowance` of the roots of their diagonal
/// elements: whatever that does is less than what is added to one diagonal, and taken from the other, here.
fn feasible_scale(push: &Matrix, pull: &Matrix, most: f64, allowance: f64) -> Result<f64> {
    let safe = if allowance == 0.0 {
        linalg::largest_generalised(push, pull)?
    } else {
        let changed = |m: &Matrix, by: f64| {
            let mut out = m.clone();
            (0..out.rows()).for_each(|k| out[(k, k)] *= 1.0 + by);
            out
        };
        linalg::largest_generalised(&changed(push, allowance), &changed(pull, -allowance))? * (1.0 + allowance)
    };
    Ok((1.0 / safe).min(most))
}

/// Whether a symmetric matrix is positive semidefinite, up to a few roundings of a norm of `size`.
pub(crate) fn is_positive(m: &Matrix, size: f64) -> Result<bool> {
    let low = linalg::symmetric_eigenvalues(m)?.first().copied().unwrap_or(0.0);
    Ok(low >= -FEW * f64::EPSILON * size)
}

/// Halvings of the interval in which a feasible scale is sought where no factorisation gives it.
const HALVINGS: usize = 40;
/// How much smaller than computed a scale is taken before it is tested.
const STAY_BELOW: f64 = 1e-9;

/// The largest `s <= 1` with `s push <= pull` where `pull` may be singular: tested, and where the test fails, found by
/// halving.
pub(crate) fn tested_scale(push: &Matrix, pull: &Matrix) -> Result<f64> {
    let size = linalg::inner(pull, pull).sqrt() + linalg::inner(push, push).sqrt();
    let fits = |s: f64| {
        let mut left = pull.clone();
        linalg::add_scaled(&mut left, -s, push);
        is_positive(&left, size)
    };
    if fits(1.0)? {
        return Ok(1.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    let scale = feasible_scale(push, pull, f64::INFINITY, 0.0)?;
    if scale > 0.0 {
        let scale = (scale * (1.0 - STAY_BELOW)).min(1.0);
        if fits(scale)? {
            return Ok(scale);
        }
        high = scale;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if fits(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::weighted_outer;
    use crate::problem::totals::tests::{cloud, listed};
    use crate::problem::{Variant, mean_pair};

    #[test]
    fn the_scaled_multipliers_are_feasible_and_cannot_be_scaled_up() {
        let cloud = cloud();
        let push = weighted_outer(&cloud.x, listed(&cloud, |same| !same).into_iter());
        let c = 0.7;
        let mean = mean_pair(&cloud, Variant::Diameter);
        // All of eta on one pair: a matrix of rank one, with which nothing but zero would be feasible.
        let pull = weighted_outer(&cloud.x, std::iter::once((0, 3, c)));
        let bound = certify(&Multipliers { push: &push, total: 4.0, pull: &pull, most: 1.0 }, &mean, c, &[]).unwrap();
        assert!(bound.value > 0.0 && bound.mix.mean > 0.0);
        let mut rest = pull.clone();
        rest.as_mut_slice().iter_mut().for_each(|v| *v *= bound.mix.kept);
        linalg::add_scaled(&mut rest, bound.mix.mean, &mean);
        linalg::add_scaled(&mut rest, -bound.scale, &push);
        let least = linalg::symmetric_eigenvalues(&rest).unwrap()[0];
        assert!(least >= -1e-12, "{least}");
        linalg::add_scaled(&mut rest, -1e-6 * bound.scale, &push);
        assert!(linalg::symmetric_eigenvalues(&rest).unwrap()[0] < 0.0);
        assert!((bound.value - 8.0 * bound.scale).abs() < 1e-12);
    }

    #[test]
    fn an_overloaded_row_scales_the_multipliers_down() {
        let mean = Matrix::identity(2);
        let push = Matrix::from_rows(&[[0.1, 0.0], [0.0, 0.1]]);
        let at = |most| certify(&Multipliers { push: &push, total: 1.0, pull: &mean, most }, &mean, 1.0, &[]).unwrap();
        assert_eq!(at(1.0).scale, 1.0);
        assert_eq!(at(0.25).scale, 0.25);
    }

    #[test]
    fn sums_that_were_mapped_prove_nothing_where_they_cancel() {
        let mean = Matrix::identity(2);
        let push = Matrix::from_rows(&[[0.1, 0.0], [0.0, 0.1]]);
        let multipliers = Multipliers { push: &push, total: 1.0, pull: &mean, most: 1.0 };
        assert_eq!(certify_mapped(&multipliers, &mean, 1.0, &[1.0, 10.0]).unwrap().scale, 1.0);
        // Coordinates of unit size that are differences of numbers of 1e9: their squares are known to 1e18 roundings.
        assert_eq!(certify_mapped(&multipliers, &mean, 1.0, &[1.0, 1e9]).unwrap().value, 0.0);
        assert!(certify(&multipliers, &mean, 1.0, &[1.0, 1e9]).unwrap().value > 0.0);
    }

    #[test]
    fn no_multipliers_give_no_bound() {
        let mean = Matrix::identity(2);
        let nothing = Multipliers { push: &Matrix::zeros(2, 2), total: 0.0, pull: &mean, most: 1.0 };
        assert_eq!(certify(&nothing, &mean, 1.0, &[]).unwrap(), Bound::default());
    }

    #[test]
    fn the_tested_scale_holds_where_the_pull_is_singular() {
        let pull = Matrix::from_rows(&[[2.0, 0.0], [0.0, 0.0]]);
        let along = Matrix::from_rows(&[[8.0, 0.0], [0.0, 0.0]]);
        let scale = tested_scale(&along, &pull).unwrap();
        assert!((scale - 0.25).abs() < 1e-8, "{scale}");
        assert_eq!(tested_scale(&pull, &along).unwrap(), 1.0);
        let across = Matrix::from_rows(&[[0.0, 0.0], [0.0, 1.0]]);
        assert!(tested_scale(&across, &pull).unwrap() < 1e-9);
    }
}
