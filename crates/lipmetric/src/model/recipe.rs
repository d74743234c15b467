use super::classifier::{Classifier, ClassifierSpec};
use super::vote::Voting;
use super::{Model, Provenance, TrainingRows};
use crate::Result;
use crate::classify::{K, Validation, Weights, best_k, judge_k, usual_ks};
use crate::method::{Fit, Learner, Training};
use crate::prepare::{Dataset, Fill, Preparation, Scaling};
use crate::solver::Observer;

/// Everything that decides what becomes of given rows: preparation, method, classifier.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Recipe<'a> {
    /// What learns the metric.
    pub learner: &'a dyn Learner,
    /// The rule for missing values.
    pub fill: Fill,
    /// The scaling.
    pub scaling: Scaling,
    /// How classes are predicted.
    pub classifier: ClassifierSpec,
}

impl<'a> Recipe<'a> {
    /// A method, with the usual preparation, and prediction by the nearest row.
    #[must_use]
    pub fn new(learner: &'a dyn Learner) -> Self {
        Self { learner, fill: Fill::default(), scaling: Scaling::default(), classifier: ClassifierSpec::default() }
    }

    /// The same with another rule for missing values and another scaling.
    #[must_use]
    pub fn prepared(self, fill: Fill, scaling: Scaling) -> Self {
        Self { fill, scaling, ..self }
    }

    /// The same with another classifier.
    #[must_use]
    pub fn predicting(self, classifier: ClassifierSpec) -> Self {
        Self { classifier, ..self }
    }

    /// Fits on these rows (all, if none are named). Nothing of the other rows is looked at.
    ///
    /// # Errors
    /// If there are fewer than two classes, `k` is larger than the number of rows, or a step refuses the data.
    pub fn fit(&self, data: &Dataset, rows: Option<&[usize]>, observer: &mut dyn Observer) -> Result<Model> {
        let preparation = Preparation::fit(data.schema.clone(), &data.columns, rows, self.fill, self.scaling)?;
        let (x, y) = match rows {
            Some(rows) => (preparation.apply_rows(&data.columns, rows)?, data.labels.select(rows)),
            None => (preparation.apply(&data.columns)?, data.labels.clone()),
        };
        y.check_two_classes()?;
        self.classifier.check(x.rows())?;
        let training = Training::new(&x, &y)?;
        let (fit, classifier) = match self.classifier {
            ClassifierSpec::Vote { k, weights } => {
                let (fit, voting) = self.fit_for_votes(&training, k, weights, observer)?;
                (fit, Classifier::Vote(voting))
            }
        };
        let learned = Provenance {
            method: self.learner.name().to_owned(),
            parameters: self.learner.parameters_for(&training),
            outcome: fit.outcome,
        };
        let classes = (y.classes().to_vec(), y.counts());
        Model::new(learned, fit.metric, preparation, classes, classifier)?.with_training(TrainingRows { x, y })
    }

    /// Learns a metric, and how many neighbours vote where that is to be chosen.
    fn fit_for_votes(
        &self,
        training: &Training<'_>,
        k: K,
        weights: Weights,
        observer: &mut dyn Observer,
    ) -> Result<(Fit, Voting)> {
        let tried = match k {
            K::Fixed(k) => vec![k],
            K::Auto => usual_ks(training.x.rows()),
        };
        let fit = self.learner.fit_for(training, &tried, weights, observer)?;
        let k = match (k, &fit.outcome.choice) {
            (K::Fixed(k), _) => k,
            (K::Auto, Some(choice)) => choice.k,
            (K::Auto, None) => {
                let mapped = fit.metric.transform(training.x)?;
                let scores = judge_k(&mapped, training.y, &tried, weights, Validation::LeaveOneOut)?;
                best_k(&scores).unwrap_or(1)
            }
        };
        Ok((fit, Voting { k, weights }))
    }
}
