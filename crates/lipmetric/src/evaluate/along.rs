use crate::classify::{KnnClassifier, Weights};
use crate::data::Split;
use crate::method::{Fit, JUDGED, Lip, Training};
use crate::neighbours::NeighbourIndex;
use crate::prepare::{Dataset, Fill, Preparation, Scaling};
use crate::solver::{Observer, Status};
use crate::{Error, Labels, Matrix, Metric, Result};

/// The gap to which the fits of [`accuracy_along`] are solved, unless their tolerance is more.
pub const HELD_OUT_GAP: f64 = JUDGED;

/// How well the nearest row predicts held-out rows along a path of trade-offs ([`Lip::path`]): `[split][fraction of c_max]`, the
/// share of the split's test rows that are predicted rightly. `c_max` is that of the rows a split trains on, and the preparation,
/// too, sees these alone. These fits end at [`HELD_OUT_GAP`], or at the tolerance where that is more.
///
/// # Errors
/// If a split cannot be fitted, or the observer ends it: [`Error::Interrupted`], whatever the reason.
pub fn accuracy_along(
    lip: &Lip,
    data: &Dataset,
    splits: &[Split],
    (fill, scaling): (Fill, Scaling),
    fractions: &[f64],
    observer: &mut dyn Observer,
) -> Result<Vec<Vec<f64>>> {
    let mut all = Vec::with_capacity(splits.len());
    for split in splits {
        let preparation = Preparation::fit(data.schema.clone(), &data.columns, Some(&split.train), fill, scaling)?;
        let (x, y) = (preparation.apply_rows(&data.columns, &split.train)?, data.labels.select(&split.train));
        let test = preparation.apply_rows(&data.columns, &split.test)?;
        let truth = data.labels.select(&split.test);
        let fits = lip.path_to_judge(&Training::new(&x, &y)?, fractions, observer)?;
        let stopped = |status| matches!(status, Status::TimeLimit | Status::Interrupted);
        if fits.len() < fractions.len() || fits.iter().any(|f| stopped(f.outcome.status)) {
            return Err(Error::Interrupted);
        }
        let share = |fit: &Fit| predicted_rightly(&fit.metric, (&x, &y), (&test, &truth));
        all.push(fits.iter().map(share).collect::<Result<_>>()?);
    }
    Ok(all)
}

/// The share of the rows whose nearest row is of their own class.
fn predicted_rightly(metric: &Metric, (x, y): (&Matrix, &Labels), (test, truth): (&Matrix, &Labels)) -> Result<f64> {
    let index = NeighbourIndex::new(metric.transform(x)?)?;
    let nearest = KnnClassifier::new(index, y.clone(), 1, Weights::Uniform)?.predict(&metric.transform(test)?)?;
    let right = nearest.iter().zip(truth.codes()).filter(|(a, b)| a == b).count();
    Ok(right as f64 / nearest.len().max(1) as f64)
}
