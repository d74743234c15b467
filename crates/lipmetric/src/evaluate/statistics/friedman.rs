use super::{chi_squared_tail, f_tail, range_quantile};
use serde::Serialize;

/// Friedman's test of many methods over several data sets, with Iman and Davenport's F.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Friedman {
    /// Data sets.
    pub n: usize,
    /// The mean rank of each method, 1 being the best.
    pub average_ranks: Vec<f64>,
    /// Friedman's statistic, corrected for ties.
    pub chi_squared: f64,
    /// Its p-value by the chi-squared distribution.
    pub chi_squared_p: f64,
    /// Iman and Davenport's statistic; `None` where it is infinite: the same order on every data set.
    pub f: Option<f64>,
    /// Its p-value: less cautious than chi-squared's, and nearer to the truth with few data sets.
    pub p: f64,
}

/// Ranks of values, 1 for the smallest, equal ones their mean; values nearer than 1e-12 are equal.
pub(super) fn tied_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] - values[order[to - 1]] < 1e-12 {
            to += 1;
        }
        for &at in &order[from..to] {
            ranks[at] = (from + 1 + to) as f64 / 2.0;
        }
        from = to;
    }
    ranks
}

/// Ranks of scores, 1 for the highest, equal ones their mean; scores nearer than 1e-12 are equal.
///
/// ```
/// use lipmetric::evaluate::statistics::ranks;
/// assert_eq!(ranks(&[0.8, 0.9, 0.8]), [2.5, 1.0, 2.5]);
/// ```
#[must_use]
pub fn ranks(scores: &[f64]) -> Vec<f64> {
    tied_ranks(&scores.iter().map(|s| -s).collect::<Vec<_>>())
}

/// Friedman's test; `scores[data set][method]`, higher is better. `None` with fewer than two data sets or methods, or
/// where all methods are equal everywhere.
///
/// # Panics
/// If the data sets do not have the same number of methods.
#[must_use]
pub fn friedman(scores: &[Vec<f64>]) -> Option<Friedman> {
    let (n, k) = (scores.len(), scores.first()?.len());
    if n < 2 || k < 2 {
        return None;
    }
    let (rows, methods) = (n as f64, k as f64);
    let mut sums = vec![0.0; k];
    let mut squares = 0.0;
    for row in scores {
        assert_eq!(row.len(), k, "a score per method on every data set");
        for (sum, rank) in sums.iter_mut().zip(ranks(row)) {
            *sum += rank;
            squares += rank * rank;
        }
    }
    let average_ranks: Vec<f64> = sums.iter().map(|s| s / rows).collect();
    // The form that holds with ties: the spread between the methods' rank sums over that of all ranks.
    let middle = (methods + 1.0) / 2.0;
    let between: f64 = average_ranks.iter().map(|r| (r - middle).powi(2)).sum::<f64>() * rows;
    let within = (squares - rows * methods * middle * middle) / (rows * (methods - 1.0));
    if within < 1e-12 {
        return None;
    }
    let chi_squared = between / within;
    let freedom = methods - 1.0;
    let rest = rows * freedom - chi_squared;
    let f = (rest > 1e-9).then(|| (rows - 1.0) * chi_squared / rest);
    Some(Friedman {
        n,
        average_ranks,
        chi_squared,
        chi_squared_p: chi_squared_tail(chi_squared, freedom),
        f,
        p: f.map_or(0.0, |f| f_tail(f, freedom, freedom * (rows - 1.0))),
    })
}

/// Nemenyi's critical difference: average ranks of `methods` over `n` data sets that are further apart than this differ
/// at the level, all pairs taken together.
///
/// ```
/// use lipmetric::evaluate::statistics::critical_difference;
/// // Demsar (2006), four methods on 14 data sets.
/// assert!((critical_difference(4, 14, 0.05) - 1.25).abs() < 0.01);
/// ```
#[must_use]
pub fn critical_difference(methods: usize, n: usize, level: f64) -> f64 {
    let k = methods as f64;
    range_quantile(level, methods) / 2.0_f64.sqrt() * (k * (k + 1.0) / (6.0 * n as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reference_values_with_ties() {
        let scores = [
            [0.76, 0.79, 0.74, 0.81],
            [0.95, 0.95, 0.94, 0.96],
            [0.66, 0.70, 0.69, 0.70],
            [0.63, 0.61, 0.66, 0.60],
            [0.83, 0.81, 0.80, 0.84],
            [0.93, 0.92, 0.92, 0.95],
        ]
        .map(Vec::from);
        let test = friedman(&scores).unwrap();
        // scipy 1.17.
        assert!((test.chi_squared - 5.368_421_052_631_588_5).abs() < 1e-12);
        assert!((test.chi_squared_p - 0.146_723_760_697_539_15).abs() < 1e-12);
        for (rank, expected) in test.average_ranks.iter().zip([31.0 / 12.0, 31.0 / 12.0, 3.25, 19.0 / 12.0]) {
            assert!((rank - expected).abs() < 1e-12);
        }
        // Iman and Davenport by hand: 5 x 5.368421 / (18 - 5.368421).
        assert!((test.f.unwrap() - 2.125).abs() < 1e-12);
    }

    #[test]
    fn ends_of_the_scale() {
        assert_eq!(friedman(&[]), None);
        assert_eq!(friedman(&[vec![1.0, 2.0]]), None);
        assert_eq!(friedman(&[vec![1.0, 1.0], vec![2.0, 2.0]]), None);
        let always = friedman(&vec![vec![0.9, 0.8, 0.7]; 6]).unwrap();
        assert_eq!((always.f, always.p), (None, 0.0));
        assert!((always.chi_squared - 12.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn only_the_order_on_each_data_set_counts(
            scores in proptest::collection::vec(proptest::collection::vec(0..20_i32, 4), 2..8),
        ) {
            let plain: Vec<Vec<f64>> = scores.iter().map(|r| r.iter().map(|&v| f64::from(v)).collect()).collect();
            let bent: Vec<Vec<f64>> = plain.iter().map(|r| r.iter().map(|v| 3.0 * v.powi(3) - 7.0).collect()).collect();
            let (a, b) = (friedman(&plain), friedman(&bent));
            prop_assert_eq!(&a, &b);
            if let Some(test) = a {
                prop_assert!((test.average_ranks.iter().sum::<f64>() - 10.0).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&test.p) && test.chi_squared >= 0.0);
            }
        }
    }
}
