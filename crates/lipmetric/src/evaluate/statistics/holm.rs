/// Holm's correction: p-values that may be held against one level although many tests were made. Each is at least what
/// it was and at most 1; whichever tests are true, the chance of any false call is below the level.
///
/// ```
/// use lipmetric::evaluate::statistics::holm;
/// assert_eq!(holm(&[0.01, 0.5, 0.02]), [0.03, 0.5, 0.04]);
/// ```
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut least: f64 = 0.0;
    for (i, &at) in order.iter().enumerate() {
        least = least.max((p.len() - i) as f64 * p[at]).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn adjusted_values_lie_between_the_raw_one_and_bonferronis_and_keep_the_order(
            p in proptest::collection::vec(0.0..=1.0_f64, 1..12),
        ) {
            let adjusted = holm(&p);
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= (p.len() as f64 * p[i]).min(1.0) + 1e-15);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }

    #[test]
    fn a_single_test_is_left_alone_and_none_is_none() {
        assert_eq!(holm(&[0.04]), [0.04]);
        assert!(holm(&[]).is_empty());
    }
}
