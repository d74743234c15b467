use super::{Model, TrainingRows, Voting};
use crate::classify::{Validation, best_k, judge_k, usual_ks};
use crate::method::{Learner, Training};
use crate::prepare::{Columns, Fill, Preparation, Scaling, Schema};
use crate::solver::Observer;
use crate::{Error, Labels, Result};

/// Everything that decides what becomes of given rows: preparation, method, classifier.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// What learns the metric.
    pub learner: &'a dyn Learner,
    /// The rule for missing values.
    pub fill: Fill,
    /// The scaling.
    pub scaling: Scaling,
    /// How classes are predicted.
    pub voting: Voting,
}

impl Recipe<'_> {
    /// Fits on these rows (all, if none are named). Nothing of the other rows is looked at.
    ///
    /// # Errors
    /// If there are fewer than two classes, `k` is larger than the number of rows, or a step refuses the data.
    pub fn fit(
        &self,
        schema: &Schema,
        columns: &Columns,
        labels: &Labels,
        rows: Option<&[usize]>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let preparation = Preparation::fit(schema.clone(), columns, rows, self.fill, self.scaling)?;
        let (x, y) = match rows {
            Some(rows) => (preparation.apply_rows(columns, rows)?, labels.select(rows)),
            None => (preparation.apply(columns)?, labels.clone()),
        };
        let class_counts = y.counts();
        let present: Vec<usize> = (0..class_counts.len()).filter(|&k| class_counts[k] > 0).collect();
        if let [only] = present[..] {
            return Err(Error::data(format!(
                "there is only one class (`{}`, on all {} rows): a metric is learned from rows of two or more",
                y.classes()[only],
                y.len()
            )));
        }
        let k = self.voting.k;
        if k != Voting::CHOOSE && (k == 0 || k > x.rows()) {
            return Err(Error::parameter(
                "k",
                format!("{k} neighbours of {} training rows: give 1 to {}", x.rows(), x.rows()),
            ));
        }
        let training = Training::new(&x, &y)?;
        let tried = if k == Voting::CHOOSE { usual_ks(x.rows()) } else { vec![k] };
        let fit = self.learner.fit_for(&training, &tried, self.voting.weights, observer)?;
        let parameters = self.learner.parameters_for(&training);
        let mut voting = self.voting;
        if k == Voting::CHOOSE {
            voting.k = match &fit.outcome.choice {
                Some(choice) => choice.k,
                None => {
                    let mapped = fit.metric.transform(&x)?;
                    let scores = judge_k(&mapped, &y, &tried, voting.weights, Validation::LeaveOneOut)?;
                    best_k(&scores).unwrap_or(1)
                }
            };
        }
        Ok(Model {
            method: self.learner.name().to_owned(),
            parameters,
            preparation,
            classes: y.classes().to_vec(),
            class_counts,
            metric: fit.metric,
            outcome: fit.outcome,
            voting,
            training: Some(TrainingRows { codes: y.codes().to_vec(), x }),
        })
    }
}
