use crate::classify::{Validation, Weights, best_k, judge_k, usual_ks};
use crate::model::{Classifier, Rows, TrainingRows, Voting};
use crate::{Labels, Matrix, Metric, Model, Result};
use serde::Serialize;

/// How well the nearest training rows tell the classes of other rows, in a picture and without it: what a map is worth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MapWorth {
    /// In the directions that are drawn.
    pub drawn: f64,
    /// By the whole learned distance.
    pub whole: f64,
    /// In as many principal components of the prepared features, for comparison.
    pub plain: f64,
    /// How many rows were predicted.
    pub rows: usize,
}

impl MapWorth {
    /// Of prepared rows that the model has not seen, in so many directions. How many neighbours vote is chosen for each of the three
    /// by leaving one training row out at a time.
    ///
    /// # Errors
    /// If the model has no training rows or no classes, or a decomposition fails.
    pub fn of(model: &Model, (x, y): (&Matrix, &Labels), dims: usize) -> Result<Self> {
        let training = model.training_rows()?;
        let of = |metric: &Metric| accuracy(model, training, metric, (x, y));
        Ok(Self {
            drawn: of(&model.metric.leading(&training.x, dims)?.0)?,
            whole: of(&model.metric)?,
            plain: of(&Metric::euclidean(x.cols()).leading(&training.x, dims)?.0)?,
            rows: x.rows(),
        })
    }
}

fn accuracy(model: &Model, training: &TrainingRows, metric: &Metric, (x, y): (&Matrix, &Labels)) -> Result<f64> {
    let weights = Weights::Uniform;
    let tried = usual_ks(training.x.rows());
    let scores = judge_k(&metric.transform(&training.x)?, &training.y, &tried, weights, Validation::LeaveOneOut)?;
    let voting = Voting { k: best_k(&scores).unwrap_or(1), weights };
    let votes = Model { metric: metric.clone(), classifier: Classifier::Vote(voting), ..model.clone() };
    let right = votes.predict(Rows::Prepared(x))?.iter().zip(y.codes()).filter(|(told, truth)| told == truth).count();
    Ok(right as f64 / x.rows().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Table};
    use crate::method::{Nca, Spec};
    use crate::model::Recipe;
    use crate::prepare::{Dataset, Roles};
    use crate::solver::Silent;

    #[test]
    fn a_map_learned_for_the_classes_tells_more_of_them_than_principal_components() {
        // The classes differ along the first feature; the others vary far more.
        let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
        let column = |j: usize, of: &dyn Fn(usize) -> f64| (0..200).map(|i| of(i) + value(5 * i + j)).collect();
        let mut columns = vec![Column::numbers("x", column(0, &|i| if i % 2 == 0 { 0.0 } else { 1.5 }))];
        columns.extend((1..5).map(|j| Column::numbers(format!("noise{j}"), column(j, &|i| 20.0 * value(9 * i + j)))));
        columns.push(Column::texts("kind", (0..200).map(|i| ["even", "odd"][i % 2])));
        let data = Dataset::read(&Table::new("t", columns), &Roles::default()).unwrap();
        let spec: Spec = Nca::new().n_components(2).into();
        let train: Vec<usize> = (0..120).collect();
        let recipe = Recipe::new(&spec).prepared(crate::prepare::Fill::Median, crate::prepare::Scaling::None);
        let model = recipe.fit(&data, Some(&train), &mut Silent).unwrap();
        let rest: Vec<usize> = (120..200).collect();
        let x = model.preparation.apply_rows(&data.columns, &rest).unwrap();
        let worth = MapWorth::of(&model, (&x, &data.labels.select(&rest)), 2).unwrap();
        assert_eq!((worth.rows, worth.drawn), (80, worth.whole), "a map learned at rank 2 is drawn whole");
        assert!(worth.drawn > 0.9 && worth.plain < 0.8, "{worth:?}");
    }
}
