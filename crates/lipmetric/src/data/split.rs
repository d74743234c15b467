//! How rows are split into those to learn from and those to judge by.

use crate::{Error, Labels, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// What a number of rows, a product, may be short of a whole number by rounding: 0.7 * 10 is 7, and others are just below.
const ROUNDING: f64 = 1e-9;

/// Rows to learn from and rows to judge by: indices in ascending order, without overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows to judge by.
    pub test: Vec<usize>,
}

/// Repeated stratified splits: of each class, `floor(fraction * n)` rows (but at least one) are for training.
///
/// This is the protocol that the paper's printed means imply, with a fraction of 0.6 and 10 repeats. Repeat `r` depends
/// on the seed and `r` alone, not on how many there are.
///
/// # Errors
/// If the fraction is not between 0 and 1, there are no repeats, or a split leaves no row to test.
pub fn holdouts(labels: &Labels, fraction: f64, repeats: usize, seed: u64) -> Result<Vec<Split>> {
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(Error::parameter(
            "train_fraction",
            format!("{fraction} is not between 0 and 1 (both excluded), e.g. 0.6"),
        ));
    }
    if repeats == 0 {
        return Err(Error::parameter("repeats", "0 repeats: at least one is needed"));
    }
    let mut splits = Vec::with_capacity(repeats);
    for repeat in 0..repeats {
        let mut train = Vec::new();
        let mut test = Vec::new();
        for rows in shuffled_classes(labels, seed, repeat as u64) {
            let count = ((fraction * rows.len() as f64 + ROUNDING).floor() as usize).max(1).min(rows.len());
            train.extend_from_slice(&rows[..count]);
            test.extend_from_slice(&rows[count..]);
        }
        splits.push(sorted(train, test));
    }
    if splits.iter().any(|s| s.test.is_empty()) {
        return Err(Error::data(format!(
            "{} rows in {} classes leave none to test; give more rows",
            labels.len(),
            labels.classes().len()
        )));
    }
    Ok(splits)
}

/// Stratified k-fold cross-validation: each row is in the test part of exactly one split, and each class is spread
/// over the folds as evenly as can be.
///
/// # Errors
/// If there are fewer than 2 folds or more folds than rows.
pub fn folds(labels: &Labels, k: usize, seed: u64) -> Result<Vec<Split>> {
    if k < 2 || k > labels.len() {
        return Err(Error::parameter("folds", format!("{k} is not from 2 to {}, the number of rows", labels.len())));
    }
    let mut fold_of = vec![0; labels.len()];
    // Dealing goes on from class to class, so that small classes do not all end up in the first folds.
    let mut next = 0;
    for rows in shuffled_classes(labels, seed, 0) {
        for i in rows {
            fold_of[i] = next % k;
            next += 1;
        }
    }
    Ok((0..k)
        .map(|fold| {
            let (test, train) = (0..labels.len()).partition(|&i| fold_of[i] == fold);
            sorted(train, test)
        })
        .collect())
}

fn sorted(mut train: Vec<usize>, mut test: Vec<usize>) -> Split {
    train.sort_unstable();
    test.sort_unstable();
    Split { train, test }
}

fn shuffled_classes(labels: &Labels, seed: u64, stream: u64) -> Vec<Vec<usize>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    let mut classes = labels.members();
    for rows in &mut classes {
        rows.shuffle(&mut rng);
    }
    classes.retain(|rows| !rows.is_empty());
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(codes: &[u32]) -> Labels {
        Labels::from_codes((0..=*codes.iter().max().unwrap()).map(|c| c.to_string()).collect(), codes.to_vec()).unwrap()
    }

    #[test]
    fn a_holdout_takes_the_floor_of_each_class() {
        let y = labels(&[vec![0; 383], vec![1; 307]].concat());
        for split in holdouts(&y, 0.6, 10, 1).unwrap() {
            assert_eq!(split.train.len(), 229 + 184);
            assert_eq!(split.train.iter().filter(|&&i| i < 383).count(), 229);
        }
        let y = labels(&[0; 5]);
        assert_eq!(holdouts(&y, 0.6, 1, 0).unwrap()[0].train.len(), 3);
    }

    #[test]
    fn bad_requests_are_refused() {
        let y = labels(&[0, 1]);
        assert!(holdouts(&y, 0.0, 1, 0).is_err());
        assert!(holdouts(&y, f64::NAN, 1, 0).is_err());
        assert!(holdouts(&y, 0.5, 0, 0).is_err());
        assert!(holdouts(&y, 0.5, 1, 0).is_err(), "one row per class leaves nothing to test");
        assert!(folds(&y, 1, 0).is_err());
        assert!(folds(&y, 3, 0).is_err());
    }

    proptest! {
        #[test]
        fn splits_partition_the_rows(codes in proptest::collection::vec(0..4_u32, 4..60), k in 2..4_usize, seed: u64) {
            let y = labels(&codes);
            let mut tested = vec![0; codes.len()];
            for split in folds(&y, k, seed).unwrap() {
                let mut all = [split.train.clone(), split.test.clone()].concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..codes.len()).collect::<Vec<_>>());
                split.test.iter().for_each(|&i| tested[i] += 1);
            }
            prop_assert!(tested.iter().all(|&t| t == 1));
            if let Ok(splits) = holdouts(&y, 0.6, 3, seed) {
                prop_assert_eq!(&splits[..2], &holdouts(&y, 0.6, 2, seed).unwrap()[..]);
                for (c, &n) in y.counts().iter().enumerate().filter(|(_, n)| **n > 0) {
                    let taken = splits[0].train.iter().filter(|&&i| codes[i] as usize == c).count();
                    prop_assert_eq!(taken, (n * 6 / 10).max(1));
                }
            }
        }
    }
}
