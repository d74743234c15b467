//! The model that stands in for a fit that is not waited for.

use super::classifier::{Classifier, ClassifierSpec};
use super::pairing::{Calibrated, Pairing, choose, distances};
use super::recipe::{Recipe, rescaled_note};
use super::vote::Voting;
use super::{Model, Provenance, TrainingRows};
use crate::classify::{K, Weights};
use crate::data::{Pair, check_pairs};
use crate::method::{Outcome, Spec};
use crate::prepare::Preparation;
use crate::solver::{Halt, Status};
use crate::{Metric, Result};

impl Recipe<'_> {
    /// What is left of a fit that was stopped before its end, in the middle of a step that takes longer than anybody wants to wait:
    /// the best metric that it has offered ([`Best`](crate::solver::Best)), or the Euclidean distance where there is none yet. The
    /// nearest rows vote; a note says which of the two it is, and that figures of the fit are not known. It takes no longer than to
    /// look at the rows.
    ///
    /// # Errors
    /// If there are fewer than two classes, or more neighbours should vote than there are rows.
    pub fn stopped(
        &self,
        preparation: Preparation,
        rows: TrainingRows,
        (halt, best): (Halt, Option<Metric>),
    ) -> Result<Model> {
        // A metric of features whose scaling was to be chosen is on other features than these.
        let scaled = !(self.scaling.is_auto() && matches!(self.spec, Spec::Auto(_)));
        let best = best.filter(|metric| scaled && metric.features() == preparation.width());
        let mut outcome = Outcome::new(Status::from(halt), 0);
        let note = match best {
            Some(_) => {
                "the fit was in the middle of a step that was not waited for: this is the best distance before it, and its figures are not known"
            }
            None => {
                "the fit was stopped before the method had a first result: this is the Euclidean distance, nothing was learned"
            }
        };
        outcome.notes.extend(rescaled_note(&preparation));
        outcome.notes.push(note.to_owned());
        let metric = best.unwrap_or_else(|| Metric::euclidean(preparation.width()));
        let metric = match self.dims {
            Some(dims) => metric.leading(&rows.x, dims)?.0,
            None => metric,
        };
        let classifier = if rows.y.are_none() {
            Classifier::Pairs(self.threshold_of(&metric, &rows)?)
        } else {
            rows.y.check_two_classes()?;
            self.classifier.check(rows.x.rows())?;
            Classifier::Vote(self.votes())
        };
        let learned = Provenance { spec: self.spec.clone(), used: self.spec.clone(), outcome };
        let classes = (rows.y.classes().to_vec(), rows.y.counts());
        Model::new(learned, metric, preparation, classes, classifier)?.with_training(rows)
    }

    /// As many neighbours as are asked for, or a single one.
    fn votes(&self) -> Voting {
        match self.classifier {
            ClassifierSpec::Vote { k: K::Fixed(k), weights } => Voting { k, weights },
            ClassifierSpec::Vote { weights, .. } => Voting { k: 1, weights },
            _ => Voting { k: 1, weights: Weights::Uniform },
        }
    }

    /// The threshold by the training pairs.
    fn threshold_of(&self, metric: &Metric, rows: &TrainingRows) -> Result<Pairing> {
        let (Some(pairs), Some(rule)) = (self.pairs, self.threshold) else { return Ok(Pairing::without()) };
        check_pairs(pairs, rows.x.rows())?;
        let found = distances(&metric.transform(&rows.x)?, pairs.iter().map(Pair::rows));
        let scores = choose(&found, pairs, rule)?;
        Ok(Pairing { threshold: scores.threshold, chosen: Calibrated::Training, rule, scores: Some(scores) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::ThresholdRule;
    use crate::data::{Column, Table};
    use crate::method::{LipPairs, Lmnn};
    use crate::prepare::{Dataset, Fill, Roles, Scaling};
    use crate::solver::Best;
    use crate::{Labels, Matrix};

    fn prepared(labels: Labels) -> (Preparation, TrainingRows) {
        let columns =
            vec![Column::numbers("x", vec![0.0, 1.0, 10.0, 11.0]), Column::numbers("noise", vec![0.0, 9.0, 1.0, 8.0])];
        let data = Dataset::labelled(&Table::new("rows", columns), "y", labels, &Roles::default()).unwrap();
        let preparation =
            Preparation::fit(data.schema.clone(), &data.columns, None, Fill::Median, Scaling::None).unwrap();
        let x = preparation.apply(&data.columns).unwrap();
        (preparation, TrainingRows::new(x, data.labels))
    }

    fn first_alone() -> Metric {
        Metric::new(Matrix::from_rows(&[[1.0, 0.0]])).unwrap()
    }

    #[test]
    fn a_stopped_fit_votes_under_the_best_metric_that_it_offered_or_the_euclidean_one() {
        let spec = Lmnn::new().into();
        let recipe = Recipe::new(&spec);
        let mut best = Best::default();
        best.offer(&mut || Some(first_alone()));
        // Nearest to the second row by the first feature, to the third by both.
        let query = Matrix::from_rows(&[[5.0, 1.0]]);
        for (left, class) in [(best.take(), 0), (best.take(), 1), (Some(Metric::euclidean(3)), 1)] {
            let (preparation, rows) = prepared(Labels::from_names(["a", "a", "b", "b"]));
            let learned = left.clone().filter(|metric| metric.features() == 2);
            let model = recipe.stopped(preparation, rows, (Halt::Interrupted, left)).unwrap();
            assert_eq!(model.metric, learned.clone().unwrap_or_else(|| Metric::euclidean(2)));
            assert_eq!((model.outcome.status, &model.spec), (Status::Interrupted, &spec));
            assert_eq!(model.outcome.notes.last().unwrap().contains("nothing was learned"), learned.is_none());
            assert_eq!(model.predict(&query).unwrap(), [class]);
        }
    }

    #[test]
    fn a_stopped_fit_of_pairs_tells_them_apart_by_a_threshold() {
        let spec = LipPairs::new().into();
        let pairs = [Pair::similar(0, 1), Pair::similar(2, 3), Pair::dissimilar(0, 2), Pair::dissimilar(1, 3)];
        for (rule, threshold) in [(Some(ThresholdRule::default()), Some(1.0..10.0)), (None, None)] {
            let (preparation, rows) = prepared(Labels::none(4));
            let recipe = Recipe::new(&spec).pairing(Some(&pairs)).thresholding(rule);
            let model = recipe.stopped(preparation, rows, (Halt::TimeLimit, Some(first_alone()))).unwrap();
            assert_eq!(model.outcome.status, Status::TimeLimit);
            match threshold {
                Some(range) => assert!(range.contains(&model.threshold().unwrap())),
                None => assert!(model.threshold().is_err()),
            }
        }
    }
}
