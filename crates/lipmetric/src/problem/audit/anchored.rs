use super::Problem;
use super::listed::unpacked;
use super::prove::tidy;
use crate::linalg::twofold::{Outer, Twofold};
use crate::problem::Certificate;
use crate::{Matrix, Result, linalg};

/// What eigenvalues may be off by, relatively and for each coordinate: some roundings.
const ROUNDINGS: f64 = 8.0 * f64::EPSILON;

impl Problem {
    /// The lower bound that multipliers prove where the metric is drawn towards an anchor, by `(gamma / 2) |M - M_0|^2` in the
    /// coordinates of the basis: over all metrics that see the rows through it. For any `M`,
    ///
    /// `F(M) >= 2 sum lambda + <G, M> + (gamma / 2) |M - M_0|^2` with `G = sum eta A - sum lambda A`,
    ///
    /// and the right side is least where `M` is the positive part of `M_0 - G / gamma`. So `G` need not be positive.
    pub(crate) fn prove_anchored(
        &self,
        certificate: &mut Certificate,
        basis: &Matrix,
        (gamma, reference): (f64, &Matrix),
    ) -> Result<f64> {
        let place = self.places();
        tidy(certificate);
        let sums = self.sums(certificate, &place, basis);
        let push = self.most(certificate, &place);
        let Some(scaled) = self.scaled(certificate, &place, &sums, 0.0) else { return Ok(0.0) };
        let scaled = scaled.pushing(push);
        let parts = self.parts(certificate, &sums, scaled);
        let side = basis.rows();
        let mut total = Outer::zeros(side);
        // What the coordinates of differences may be off by moves a sum of `w d d^T` by no more than this.
        let (mut weight, mut trace) = (0.0, 0.0);
        for (factor, part) in &parts {
            total.sum.add_scaled(*factor, &part.sum);
            weight += (*factor * part.total).value().abs();
            trace += factor.value().abs() * (0..side).map(|k| part.diagonal(k)).sum::<f64>();
        }
        let error = linalg::dot(&sums.error, &sums.error).sqrt();
        let moved = 2.0 * (weight * trace).sqrt() * error + weight * error * error;
        let mut towards = unpacked(&total);
        towards.as_mut_slice().iter_mut().for_each(|v| *v /= -gamma);
        linalg::add_scaled(&mut towards, 1.0, reference);
        let positive = linalg::symmetric_eigenvalues(&towards)?.iter().map(|v| v.max(0.0).powi(2)).sum::<f64>().sqrt();
        let size = linalg::inner(&towards, &towards).sqrt() + trace / gamma;
        let positive = positive + side as f64 * ROUNDINGS * size + moved / gamma;
        let (square, own) = (positive * positive, linalg::inner(reference, reference));
        let anchor = 0.5 * gamma * (own - square) - gamma * ROUNDINGS * (own + square);
        let pushed = (sums.push.total + sums.below.total * certificate.below) * Twofold::from(push);
        Ok((anchor + (pushed * 2.0).below()).max(0.0))
    }
}
