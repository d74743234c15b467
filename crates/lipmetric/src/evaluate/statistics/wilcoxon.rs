use super::friedman::tied_ranks;
use super::normal_tail;
use serde::Serialize;

/// Up to here the distribution of the rank sum is computed in full; above, the normal one is as good.
const EXACT: usize = 200;

/// Wilcoxon's signed-rank test of one method against another over several data sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Wilcoxon {
    /// Data sets.
    pub n: usize,
    /// Those on which the two are equal.
    pub zeros: usize,
    /// Sum of the ranks of positive differences.
    pub positive: f64,
    /// Sum of the ranks of negative differences.
    pub negative: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// The smallest p-value that the test can give with as many data sets that differ: with five, it is 0.0625, and
    /// nothing can be shown at 5 %.
    pub least_p: f64,
}

/// Wilcoxon's signed-rank test, exact up to 200 values that are not zero.
///
/// Zeros are ranked with the rest and then left out (Pratt's rule), so that they pull the test towards "no difference".
/// Tied values have their mean rank, and the null distribution is that of the ranks as they are. Differences below 1e-12
/// count as zero, and ones nearer than that to each other as tied: they are rounding. `None` of no values.
///
/// ```
/// use lipmetric::evaluate::statistics::wilcoxon;
/// let test = wilcoxon(&[1.5, -0.5, 2.2, 3.1, -0.7, 0.9, 1.1, 4.0]).unwrap();
/// assert_eq!((test.positive, test.negative, test.p), (33.0, 3.0, 0.0390625));
/// ```
#[must_use]
pub fn wilcoxon(differences: &[f64]) -> Option<Wilcoxon> {
    if differences.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|d| if d.abs() < 1e-12 { 0.0 } else { d.abs() }).collect();
    let ranks = tied_ranks(&sizes);
    let sum = |sign: f64| -> f64 {
        let chosen =
            differences.iter().zip(&sizes).zip(&ranks).filter(|((d, size), _)| **size > 0.0 && *d * sign > 0.0);
        chosen.map(|(_, r)| r).sum()
    };
    let (positive, negative) = (sum(1.0), sum(-1.0));
    // Mean ranks are halves: doubled, they are whole numbers.
    let doubled: Vec<usize> =
        ranks.iter().zip(&sizes).filter(|(_, size)| **size > 0.0).map(|(r, _)| (2.0 * r).round() as usize).collect();
    let smaller = positive.min(negative);
    let p = if doubled.len() <= EXACT {
        exact(&doubled, (2.0 * smaller).round() as usize)
    } else {
        normal(&doubled, smaller)
    };
    Some(Wilcoxon {
        n: differences.len(),
        zeros: differences.len() - doubled.len(),
        positive,
        negative,
        p,
        least_p: 2.0 * 0.5_f64.powi(doubled.len().max(1) as i32),
    })
}

/// Twice the chance that signs thrown at random give a (doubled) rank sum of at most `sum`.
fn exact(doubled: &[usize], sum: usize) -> f64 {
    let mut chance = vec![0.0; sum + 1];
    chance[0] = 1.0;
    for &rank in doubled {
        for s in (0..=sum).rev() {
            chance[s] = 0.5 * (chance[s] + if s >= rank { chance[s - rank] } else { 0.0 });
        }
    }
    (2.0 * chance.iter().sum::<f64>()).min(1.0)
}

/// The normal approximation, with a correction of half a rank.
fn normal(doubled: &[usize], smaller: f64) -> f64 {
    let ranks = || doubled.iter().map(|&d| 0.5 * d as f64);
    let (mean, variance) = (0.5 * ranks().sum::<f64>(), 0.25 * ranks().map(|r| r * r).sum::<f64>());
    (2.0 * normal_tail((mean - smaller - 0.5).max(0.0) / variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reference_values() {
        // scipy 1.17, exact.
        let cases: [(&[f64], f64, f64); 5] = [
            (&[0.3, -0.2, 0.5, -0.9, 1.3, -1.7, 2.1], 11.0, 0.6875),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 0.0, 0.0078125),
            (
                &[-0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7, -0.8, 0.9, 1.0, 1.1, -1.2, 1.3, 1.4, 1.5],
                25.0,
                0.047_912_597_656_25,
            ),
            // With ties and zeros: scipy's permutation of all signs, zeros by Pratt's rule.
            (&[1.0, 1.0, -1.0, 2.0, 0.0, 0.0, 3.0, -2.0], 10.5, 0.5),
            (&[0.5, 0.5, 0.5, -0.5, 1.0, 0.0], 3.5, 0.3125),
        ];
        for (differences, smaller, p) in cases {
            let test = wilcoxon(differences).unwrap();
            assert_eq!((test.positive.min(test.negative), test.p), (smaller, p), "{differences:?}");
        }
    }

    #[test]
    fn nothing_is_shown_where_nothing_differs_or_too_little_is_there() {
        assert_eq!(wilcoxon(&[]), None);
        assert_eq!(wilcoxon(&[0.0, 1e-14, 0.0]).unwrap().p, 1.0);
        let five = wilcoxon(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((five.p, five.least_p), (0.0625, 0.0625));
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_distribution() {
        let doubled: Vec<usize> = (1..=150).map(|r| 2 * r).collect();
        for smaller in [4000.0, 4800.0, 5500.0] {
            let (e, n) = (exact(&doubled, 2 * smaller as usize), normal(&doubled, smaller));
            assert!((e - n).abs() < 2e-3, "{e} and {n}");
        }
        let many: Vec<f64> = (0..500).map(|i| if i % 3 == 0 { -f64::from(i) } else { f64::from(i) + 0.5 }).collect();
        assert!(wilcoxon(&many).unwrap().p < 1e-6);
    }

    proptest! {
        #[test]
        fn it_is_the_part_of_all_signs_that_are_as_extreme(d in proptest::collection::vec(-3..=3_i32, 1..10)) {
            let d: Vec<f64> = d.into_iter().map(f64::from).collect();
            let test = wilcoxon(&d).unwrap();
            let ranks = tied_ranks(&d.iter().map(|v| v.abs()).collect::<Vec<_>>());
            let kept: Vec<f64> = ranks.iter().zip(&d).filter(|(_, v)| **v != 0.0).map(|(r, _)| *r).collect();
            let total: f64 = kept.iter().sum();
            let as_extreme = (0..1_u32 << kept.len())
                .filter(|signs| {
                    let plus: f64 = kept.iter().enumerate().filter(|(i, _)| signs >> i & 1 == 1).map(|(_, r)| r).sum();
                    plus.min(total - plus) <= test.positive.min(test.negative) + 1e-9
                })
                .count();
            let expected = as_extreme as f64 / f64::from(1_u32 << kept.len());
            prop_assert!((test.p - expected).abs() < 1e-12, "{} is not {expected}", test.p);
            let turned: Vec<f64> = d.iter().map(|v| -v).collect();
            let other = wilcoxon(&turned).unwrap();
            prop_assert_eq!((test.p, test.positive), (other.p, other.negative));
            prop_assert!(test.p >= test.least_p || kept.is_empty());
        }
    }
}
