use super::t_two_sided;
use serde::Serialize;

/// The corrected resampled t-test of one method against another on one data set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResampledT {
    /// Mean difference over the splits.
    pub difference: f64,
    /// Its standard error, corrected for the overlap of the training parts.
    pub standard_error: f64,
    /// Two-sided p-value. `None` where there is no spread to judge a difference by: a single split, or the same
    /// difference, not zero, on all of them.
    pub p: Option<f64>,
}

/// Nadeau and Bengio's corrected resampled t-test (Machine Learning 52, 2003): of `n` differences over random splits
/// with `train` and `test` rows each, `t = mean / sqrt((1/n + test/train) variance)` with `n - 1` degrees of freedom.
///
/// Differences below 1e-12 count as zero: they are rounding. `None` of no difference at all.
///
/// ```
/// use lipmetric::evaluate::statistics::resampled_t;
/// let test = resampled_t(&[0.02, 0.03, 0.01, 0.02, 0.04], 60, 40).unwrap();
/// assert!((test.difference - 0.024).abs() < 1e-12);
/// // The plain t-test would give 0.009.
/// assert!((test.p.unwrap() - 0.0866).abs() < 1e-4);
/// ```
#[must_use]
pub fn resampled_t(differences: &[f64], train: usize, test: usize) -> Option<ResampledT> {
    if differences.is_empty() {
        return None;
    }
    let n = differences.len() as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n;
    let difference = mean(&mut differences.iter().copied());
    let squares = n * mean(&mut differences.iter().map(|d| (d - difference).powi(2)));
    let variance = if differences.len() > 1 { squares / (n - 1.0) } else { 0.0 };
    let standard_error = ((1.0 / n + test as f64 / train.max(1) as f64) * variance).sqrt();
    let (null, flat) = (difference.abs() < 1e-12, standard_error < 1e-12);
    let p = match (null, flat) {
        _ if differences.len() < 2 => None,
        (true, _) => Some(1.0),
        (false, true) => None,
        (false, false) => Some(t_two_sided(difference / standard_error, n - 1.0)),
    };
    Some(ResampledT { difference, standard_error, p })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cases_without_spread_claim_nothing() {
        assert_eq!(resampled_t(&[], 6, 4), None);
        assert_eq!(resampled_t(&[0.1], 6, 4).unwrap().p, None);
        assert_eq!(resampled_t(&[0.1; 10], 6, 4).unwrap().p, None);
        assert_eq!(resampled_t(&[0.0; 10], 6, 4).unwrap().p, Some(1.0));
    }

    proptest! {
        #[test]
        fn it_is_symmetric_free_of_scale_and_more_cautious_than_the_plain_test(
            d in proptest::collection::vec(-0.1..0.1_f64, 3..15), scale in 0.01..100.0_f64,
        ) {
            let test = resampled_t(&d, 60, 40).unwrap();
            let turned: Vec<f64> = d.iter().map(|v| -v * scale).collect();
            let other = resampled_t(&turned, 60, 40).unwrap();
            let plain = resampled_t(&d, 60, 0).unwrap();
            if let (Some(p), Some(q), Some(r)) = (test.p, other.p, plain.p) {
                prop_assert!((p - q).abs() < 1e-9);
                prop_assert!(p >= r - 1e-12);
            }
            prop_assert!((test.difference * scale + other.difference).abs() < 1e-9);
        }
    }
}
