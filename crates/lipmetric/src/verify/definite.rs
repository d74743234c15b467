//! Whether a symmetric matrix of integers is positive semidefinite, by elimination without fractions.

use num_bigint::{BigInt, Sign};

/// The rank of a matrix that is positive semidefinite; `None` where it is not.
///
/// Bareiss' elimination with pivots from the diagonal: after `k` steps the entries are minors of the matrix, divided by nothing,
/// and the rest is positive semidefinite exactly where the matrix is. A negative number on the diagonal says no; where
/// the diagonal is zero all that is left must be zero.
pub(super) fn rank_of_semidefinite(mut a: Vec<Vec<BigInt>>) -> Option<usize> {
    let n = a.len();
    let mut before = BigInt::from(1u32);
    for k in 0..n {
        if (k..n).any(|i| a[i][i].sign() == Sign::Minus) {
            return None;
        }
        let pivot = (k..n).filter(|&i| a[i][i].sign() == Sign::Plus).min_by_key(|&i| a[i][i].bits());
        let Some(pivot) = pivot else {
            let zero = (k..n).all(|i| (k..n).all(|j| a[i][j].sign() == Sign::NoSign));
            return zero.then_some(k);
        };
        a.swap(k, pivot);
        a.iter_mut().for_each(|row| row.swap(k, pivot));
        for i in k + 1..n {
            for j in i..n {
                let minor = (&a[k][k] * &a[i][j] - &a[i][k] * &a[k][j]) / &before;
                a[j][i].clone_from(&minor);
                a[i][j] = minor;
            }
        }
        before.clone_from(&a[k][k]);
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rows: &[&[i64]]) -> Option<usize> {
        rank_of_semidefinite(rows.iter().map(|row| row.iter().map(|&v| BigInt::from(v)).collect()).collect())
    }

    #[test]
    fn matrices_are_told_apart_to_the_last_unit() {
        assert_eq!(rank(&[]), Some(0));
        assert_eq!(rank(&[&[2, 1], &[1, 2]]), Some(2));
        assert_eq!(rank(&[&[4, 2], &[2, 1]]), Some(1));
        assert_eq!(rank(&[&[1_000_001, 1_000_000], &[1_000_000, 999_999]]), None, "the determinant is -1");
        assert_eq!(rank(&[&[0, 0], &[0, 3]]), Some(1));
        assert_eq!(rank(&[&[0, 1], &[1, 3]]), None);
        assert_eq!(rank(&[&[0, 1], &[1, 0]]), None);
        assert_eq!(rank(&[&[-1]]), None);
        assert_eq!(rank(&[&[0, 0], &[0, 0]]), Some(0));
    }

    #[test]
    fn gram_matrices_are_semidefinite_of_the_rank_of_their_rows_and_no_more() {
        // Seven numbers per row; the third row is the sum of the first two.
        let (a, b) = ([3i64, -1, 4, 1, -5, 9, 2], [6, 5, -3, 5, 8, -9, 7]);
        let c: Vec<i64> = a.iter().zip(&b).map(|(p, q)| p + q).collect();
        let rows = [&a[..], &b, &c, &[2, 7, 1, 8, 2, 8, 1]];
        let dot = |p: &[i64], q: &[i64]| p.iter().zip(q).map(|(x, y)| x * y).sum::<i64>();
        let mut gram: Vec<Vec<i64>> = rows.iter().map(|p| rows.iter().map(|q| dot(p, q)).collect()).collect();
        let asked = |m: &[Vec<i64>]| rank(&m.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(asked(&gram), Some(3));
        gram[2][2] -= 1;
        assert_eq!(asked(&gram), None);
        gram[2][2] += 2;
        assert_eq!(asked(&gram), Some(4));
    }
}
