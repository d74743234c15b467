//! What the distances of a regularisation path are worth on rows that they were not learned from.

use crate::data::{Split, folds};
use crate::method::{Lip, Training};
use crate::neighbours::NeighbourIndex;
use crate::prepare::{Dataset, Fill, Preparation, Scaling};
use crate::solver::Observer;
use crate::{Matrix, Metric, Result};

/// `accuracies[fold][point]`: the part of each fold that the nearest row of the other folds predicts rightly, under the distances
/// of a path that was computed from those. Preparation, too, sees the other folds alone.
///
/// # Errors
/// If a class has fewer rows than there are folds, or a path cannot be computed.
pub fn path_accuracies(
    data: &Dataset,
    (fill, scaling): (Fill, Scaling),
    (lip, fractions): (&Lip, &[f64]),
    (number, seed): (usize, u64),
    observer: &mut dyn Observer,
) -> Result<Vec<Vec<f64>>> {
    let mut all = Vec::with_capacity(number);
    for split in folds(&data.labels, number, seed)? {
        let preparation = Preparation::fit(data.schema.clone(), &data.columns, Some(&split.train), fill, scaling)?;
        let train = preparation.apply_rows(&data.columns, &split.train)?;
        let test = preparation.apply_rows(&data.columns, &split.test)?;
        let labels = data.labels.select(&split.train);
        let fits = lip.path(&Training::new(&train, &labels)?, fractions, observer)?;
        let one = |metric: &Metric| nearest(metric, (&train, &test), data, &split);
        all.push(fits.iter().map(|fit| one(&fit.metric)).collect::<Result<Vec<f64>>>()?);
    }
    Ok(all)
}

/// The part of the test rows whose nearest training row is of their class.
fn nearest(metric: &Metric, (train, test): (&Matrix, &Matrix), data: &Dataset, split: &Split) -> Result<f64> {
    let found = NeighbourIndex::new(metric.transform(train)?)?.query(&metric.transform(test)?, 1)?;
    let codes = data.labels.codes();
    let right = (0..split.test.len()).filter(|&i| codes[split.train[found.indices(i)[0]]] == codes[split.test[i]]);
    Ok(right.count() as f64 / split.test.len().max(1) as f64)
}
