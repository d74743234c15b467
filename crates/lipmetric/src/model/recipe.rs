use super::classifier::{Classifier, ClassifierSpec};
use super::vote::Voting;
use super::{Model, Provenance, Terms, TrainingRows, extension, number, smooth};
use crate::classify::{K, SmoothSpec, ThresholdRule, Validation, Weights, best_k, judge_k, usual_ks};
use crate::data::{Pair, Quadruplet};
use crate::helpers::Helpers;
use crate::method::{Choose, Fit, Judges, Method, Raw, ScalingChoice, Serves, Spec, Training, Triplet};
use crate::prepare::{Dataset, Fill, Preparation, Scaling};
use crate::solver::{Observer, Timed};
use crate::{Error, Matrix, Metric, Result};
use std::sync::Arc;

/// Everything that decides what becomes of given rows: preparation, method, classifier.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Recipe<'a> {
    /// What learns the metric.
    pub spec: &'a Spec,
    /// A metric to start from, on the prepared features.
    pub start: Option<&'a Metric>,
    /// Comparisons to learn from instead of the labels, by the numbers of the rows that are fitted.
    pub triplets: Option<&'a [Triplet]>,
    /// The same between pairs of rows.
    pub quadruplets: Option<&'a [Quadruplet]>,
    /// Pairs of rows that are similar or not, to learn from instead of the labels.
    pub pairs: Option<&'a [Pair]>,
    /// What the threshold of rows without labels is chosen by; none where there shall be none.
    pub threshold: Option<ThresholdRule>,
    /// The rule for missing values.
    pub fill: Fill,
    /// The scaling. Where it is to be chosen it is the usual one, but for [`Spec::Auto`] and classes: then it is chosen by held-out
    /// rows, too ([`ScalingChoice`](crate::method::ScalingChoice)).
    pub scaling: Choose<Scaling>,
    /// How classes are predicted.
    pub classifier: ClassifierSpec,
    /// How many directions of the learned metric are kept, those in which the rows spread most under it; all where nothing is said.
    pub dims: Option<usize>,
    /// How much each of the rows that are fitted counts while the metric is learned; all count once where there are none.
    pub weights: Option<&'a [f64]>,
    /// Whether the model keeps the multipliers that prove its bound.
    pub certificate: bool,
    /// Whether it keeps them where there are some.
    pub certificate_if_any: bool,
    /// Other processes that hold the rows, all of them, and compute passes over their pairs.
    pub helpers: Option<&'a Arc<dyn Helpers>>,
}

impl<'a> Recipe<'a> {
    /// A method, with the usual preparation, and prediction by the nearest row.
    #[must_use]
    pub fn new(spec: &'a Spec) -> Self {
        let (fill, scaling, classifier) = (Fill::default(), Choose::Auto, ClassifierSpec::default());
        Self {
            spec,
            start: None,
            triplets: None,
            quadruplets: None,
            pairs: None,
            threshold: Some(ThresholdRule::default()),
            fill,
            scaling,
            classifier,
            dims: None,
            weights: None,
            certificate: false,
            certificate_if_any: false,
            helpers: None,
        }
    }

    /// The same from a metric to start from, where there is one ([`Training::with_start`]).
    #[must_use]
    pub fn starting_from(self, start: Option<&'a Metric>) -> Self {
        Self { start, ..self }
    }

    /// The same by comparisons, where there are some ([`Training::with_triplets`]).
    #[must_use]
    pub fn comparing(self, triplets: Option<&'a [Triplet]>) -> Self {
        Self { triplets, ..self }
    }

    /// The same by comparisons of two pairs each, where there are some ([`Training::with_quadruplets`]).
    #[must_use]
    pub fn comparing_pairs(self, quadruplets: Option<&'a [Quadruplet]>) -> Self {
        Self { quadruplets, ..self }
    }

    /// The same by pairs that are similar or not, where there are some ([`Training::with_pairs`]).
    ///
    /// ```
    /// use lipmetric::data::{Column, Pair, Table};
    /// use lipmetric::method::LipPairs;
    /// use lipmetric::model::Recipe;
    /// use lipmetric::prepare::{Dataset, Roles};
    /// let (x, noise) = (vec![0.0, 0.1, 5.0, 5.1], vec![3.0, 9.0, 8.0, 2.0]);
    /// let table = Table::new("rows", vec![Column::numbers("x", x), Column::numbers("noise", noise)]);
    /// let data = Dataset::unlabelled(&table, &Roles::default())?;
    /// let pairs = [Pair::similar(0, 1), Pair::similar(2, 3), Pair::dissimilar(0, 2), Pair::dissimilar(1, 3)];
    /// let spec = LipPairs::new().into();
    /// let model = Recipe::new(&spec).pairing(Some(&pairs)).fit(&data, None, &mut lipmetric::solver::Silent)?;
    /// let distances = model.pair_distances(&table, &[[0, 1], [1, 2]])?;
    /// assert!(distances[0] <= model.threshold()? && distances[1] > model.threshold()?);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    #[must_use]
    pub fn pairing(self, pairs: Option<&'a [Pair]>) -> Self {
        Self { pairs, ..self }
    }

    /// The same with another rule for the threshold up to which two rows are similar, or without a threshold. It is chosen on pairs
    /// that are held out, where there are some of each kind: that takes five more fits.
    #[must_use]
    pub fn thresholding(self, rule: Option<ThresholdRule>) -> Self {
        Self { threshold: rule, ..self }
    }

    /// The same with another rule for missing values and another scaling.
    #[must_use]
    pub fn prepared(self, fill: Fill, scaling: impl Into<Choose<Scaling>>) -> Self {
        Self { fill, scaling: scaling.into(), ..self }
    }

    /// The same with another classifier.
    #[must_use]
    pub fn predicting(self, classifier: ClassifierSpec) -> Self {
        Self { classifier, ..self }
    }

    /// The same with only so many directions of the learned metric kept ([`Metric::leading`]), where it is said how many: a map to look
    /// at, in which the nearest rows vote.
    ///
    /// ```
    /// use lipmetric::data::{Column, Table};
    /// use lipmetric::method::Euclidean;
    /// use lipmetric::model::Recipe;
    /// use lipmetric::prepare::{Dataset, Roles};
    /// let numbers = |seed: usize| (0..8).map(|i| ((i * seed) % 7) as f64).collect();
    /// let mut columns: Vec<Column> = (3..7).map(|seed| Column::numbers(format!("x{seed}"), numbers(seed))).collect();
    /// columns.push(Column::texts("kind", (0..8).map(|i| ["a", "b"][i % 2])));
    /// let data = Dataset::read(&Table::new("rows", columns), &Roles::default())?;
    /// let model = Recipe::new(&Euclidean::new().into()).reduced_to(Some(2)).fit(&data, None, &mut lipmetric::solver::Silent)?;
    /// assert_eq!(model.metric.rank(), 2);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    #[must_use]
    pub fn reduced_to(self, dims: Option<usize>) -> Self {
        Self { dims, ..self }
    }

    /// The same with a weight for each row, where there are some ([`Training::with_weights`]). They count while the metric is
    /// learned; preparation and prediction take every row as it is.
    #[must_use]
    pub fn weighing(self, weights: Option<&'a [f64]>) -> Self {
        Self { weights, ..self }
    }

    /// The same with the multipliers that prove the bound kept in the model, or not; see
    /// [`Verified::of`](crate::verify::Verified::of). Only the exact solver of Lip^D and Lip^I has them.
    #[must_use]
    pub fn keeping_certificate(self, certificate: bool) -> Self {
        Self { certificate, ..self }
    }

    /// The same with the multipliers kept where the method gives some.
    #[must_use]
    pub fn keeping_certificate_if_any(self, keep: bool) -> Self {
        Self { certificate_if_any: keep, ..self }
    }

    /// The same with passes over all pairs computed by other processes, where there are some that hold the rows
    /// ([`Share`](crate::helpers::Share)). What is learned is the same to the last bit. A fit on some of the rows goes without.
    #[must_use]
    pub fn helped_by(self, helpers: Option<&'a Arc<dyn Helpers>>) -> Self {
        Self { helpers, ..self }
    }

    /// Fits on these rows (all, if none are named). Nothing of the other rows is looked at.
    ///
    /// # Errors
    /// If there are fewer than two classes, `k` is larger than the number of rows, a step refuses the data, or a certificate is
    /// to be kept and there would be none.
    pub fn fit(&self, data: &Dataset, rows: Option<&[usize]>, observer: &mut dyn Observer) -> Result<Model> {
        // One clock for the choice of a scaling and what follows; a stop is one of both.
        let observer: &mut dyn Observer = &mut Timed::new(observer);
        let chosen = self.choose_scaling(data, rows, observer)?;
        let scaling = chosen.as_ref().map_or(self.scaling.unwrap_or_default(), |choice| choice.scaling);
        let preparation = Preparation::fit(data.schema.clone(), &data.columns, rows, self.fill, scaling)?;
        let (x, y) = match rows {
            Some(rows) => (preparation.apply_rows(&data.columns, rows)?, data.labels.select(rows)),
            None => (preparation.apply(&data.columns)?, data.labels.clone()),
        };
        let lines = match rows {
            Some(rows) if !data.lines.is_empty() => rows.iter().map(|&i| data.lines[i]).collect(),
            _ => data.lines.clone(),
        };
        // Helpers hold all rows.
        let helped = Self { helpers: self.helpers.filter(|_| rows.is_none()), ..*self };
        let mut model =
            helped.fit_prepared(preparation, TrainingRows { lines, ..TrainingRows::new(x, y) }, observer)?;
        if let Some(choice) = &mut model.outcome.choice {
            choice.scaling = chosen;
        }
        Ok(model)
    }

    /// The scaling of these rows, where it is to be chosen with everything else. Helpers hold rows that are prepared already.
    fn choose_scaling(
        &self,
        data: &Dataset,
        rows: Option<&[usize]>,
        observer: &mut dyn Observer,
    ) -> Result<Option<ScalingChoice>> {
        let Spec::Auto(auto) = self.spec else { return Ok(None) };
        if !self.scaling.is_auto() || self.helpers.is_some() {
            return Ok(None);
        }
        let all: Vec<usize>;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                all = (0..data.labels.len()).collect();
                &all
            }
        };
        self.classifier.check(rows.len())?;
        let uniform = Weights::Uniform;
        let (neighbours, weights, smooth) = match self.classifier {
            ClassifierSpec::Vote { k: K::Fixed(k), weights } => (vec![k], weights, None),
            ClassifierSpec::Vote { k: K::Auto, weights } => (usual_ks(rows.len()), weights, None),
            ClassifierSpec::Extension { .. } => (vec![1], uniform, None),
            ClassifierSpec::Smooth(asked) => (Vec::new(), uniform, Some(asked)),
            ClassifierSpec::Auto => (Vec::new(), uniform, Some(SmoothSpec::default())),
        };
        let raw = Raw { data, rows, weights: self.weights, fill: self.fill };
        auto.choose_scaling(raw, Judges { neighbours: &neighbours, weights, smooth }, observer)
    }

    /// Fits on rows that this preparation has made: what a program that holds no table does. The recipe's own rules of preparation
    /// are not applied again.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn fit_prepared(
        &self,
        preparation: Preparation,
        rows: TrainingRows,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        self.check_dims(rows.y.are_none())?;
        if rows.y.are_none() {
            return self.fit_unlabelled(preparation, rows, observer);
        }
        let TrainingRows { x, y, lines, .. } = rows;
        y.check_two_classes()?;
        self.classifier.check(x.rows())?;
        let mut training = Training::new(&x, &y)?;
        if let Some(weights) = self.weights {
            training = training.with_weights(weights)?;
        }
        training.start = self.start;
        (training.triplets, training.quadruplets, training.pairs) = (self.triplets, self.quadruplets, self.pairs);
        training.helpers = self.helpers;
        training.certified = self.certificate || self.certificate_if_any;
        if self.certificate {
            self.spec.check_certificate(&training)?;
        }
        let (mut fit, classifier, terms) = self.fit_classifier(&training, observer)?;
        // No part of the spec: a note says that there was more to learn from.
        let notes = &mut fit.outcome.notes;
        if self.start.is_some() {
            notes.push("the search began from a given metric".to_owned());
        }
        let comparisons = self.triplets.map(<[_]>::len).or(self.quadruplets.map(<[_]>::len));
        if let Some(count) = comparisons {
            notes.push(format!("learned from {count} given comparisons, not from the labels"));
        }
        if let Some(pairs) = self.pairs {
            notes.push(format!("learned from {} given pairs, not from the labels", pairs.len()));
        }
        notes.extend(rescaled_note(&preparation));
        let used = self.spec.used(&training)?;
        let learned = Provenance { spec: self.spec.clone(), used, outcome: fit.outcome };
        let classes = (y.classes().to_vec(), y.counts());
        let values = match (&classifier, y.numbers()) {
            (Classifier::Extension(extending), Some(numbers)) => {
                Some(number::smoothed(&fit.metric.transform(&x)?, numbers, extending)?)
            }
            _ => fit.slack.map(|slack| slack.iter().map(|xi| 1.0 - xi).collect()),
        };
        let rows = TrainingRows { values, terms, lines, ..TrainingRows::new(x, y) };
        let model = Model::new(learned, fit.metric, preparation, classes, classifier)?.with_training(rows)?;
        match fit.certificate {
            Some(certificate) if self.certificate || self.certificate_if_any => model.with_certificate(certificate),
            _ => Ok(model),
        }
    }

    /// Refuses what a map of few directions does not go with.
    fn check_dims(&self, unlabelled: bool) -> Result<()> {
        let refused = |why: &str| Err(Error::parameter("dims", why.to_owned()));
        match self.dims {
            None => Ok(()),
            Some(0) => refused("0 directions: give at least 1"),
            Some(_) if unlabelled => refused(
                "the threshold of rows without labels is one of the whole distance; keep that, and map rows to few directions \
                 afterwards (`transform`)",
            ),
            Some(_) if self.certificate => {
                refused("a certificate is one of the whole distance, of which only some directions would be kept")
            }
            Some(_) if !matches!(self.classifier, ClassifierSpec::Vote { .. }) => refused(
                "in a map of few directions the nearest rows vote; a function is one of the whole distance: take \
                 `classifier = nearest`",
            ),
            Some(_) => Ok(()),
        }
    }

    /// Keeps only the directions that are wanted, and says so.
    fn reduce(&self, fit: &mut Fit, x: &Matrix) -> Result<()> {
        let Some(dims) = self.dims else { return Ok(()) };
        let whole = fit.metric.rank();
        if dims > x.cols() {
            let message = format!("{dims} directions of {} features: give 1 to {}", x.cols(), x.cols());
            return Err(Error::parameter("dims", message));
        }
        let (metric, share) = fit.metric.leading(x, dims)?;
        if dims > whole {
            fit.outcome
                .notes
                .push(format!("directions that the distance has: {whole}, fewer than the {dims} asked for"));
        }
        if dims < whole {
            fit.outcome.notes.push(format!(
                "kept of {whole} directions of the distance: {dims}, in which the training rows spread most, with {:.1} % of their \
                 squared distances; all other figures of the fit are those of the whole distance",
                100.0 * share
            ));
        }
        fit.metric = metric;
        Ok(())
    }

    /// Learns a metric and what predicts by it.
    fn fit_classifier(
        &self,
        training: &Training<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(Fit, Classifier, Option<Terms>)> {
        let chooses = matches!(self.spec, Spec::Auto(_));
        Ok(match self.classifier {
            ClassifierSpec::Vote { k, weights } => {
                let (fit, voting) = self.fit_for_votes(training, k, weights, observer)?;
                (fit, Classifier::Vote(voting), None)
            }
            ClassifierSpec::Extension { alpha, .. } if training.y.numbers().is_some() => {
                let (fit, extending) = number::fit_extension(self.spec, training, alpha, observer)?;
                (fit, Classifier::Extension(extending), None)
            }
            ClassifierSpec::Extension { alpha, calibrate } => {
                let (fit, extending) = extension::fit(self.spec, training, (alpha, calibrate), observer)?;
                (fit, Classifier::Extension(extending), None)
            }
            ClassifierSpec::Smooth(asked) if chooses => self.fit_jointly(training, &[], asked, observer)?,
            ClassifierSpec::Smooth(asked) => {
                let (fit, smoothing, terms) = smooth::fit(self.spec, training, asked, observer)?;
                (fit, Classifier::Smooth(smoothing), Some(terms))
            }
            ClassifierSpec::Auto if chooses => {
                let neighbours = usual_ks(training.x.rows());
                self.fit_jointly(training, &neighbours, SmoothSpec::default(), observer)?
            }
            ClassifierSpec::Auto => {
                let message = format!(
                    "`classifier = auto` is chosen together with the distance by `method = auto`; for {} say which: nearest, \
                     extension or smooth",
                    self.spec.name()
                );
                return Err(Error::parameter("classifier", message));
            }
        })
    }

    /// Learns a metric that is chosen together with what predicts by it.
    fn fit_jointly(
        &self,
        training: &Training<'_>,
        neighbours: &[usize],
        asked: SmoothSpec,
        observer: &mut dyn Observer,
    ) -> Result<(Fit, Classifier, Option<Terms>)> {
        let weights = Weights::Uniform;
        let serves = Serves::Function { neighbours, weights, smooth: Some(asked) };
        let mut fit = self.spec.fit(&Training { serves, ..*training }, observer)?;
        if let Some(k) = fit.outcome.choice.as_ref().and_then(|choice| choice.chosen.k) {
            return Ok((fit, Classifier::Vote(Voting { k, weights }), None));
        }
        let (smoothing, terms) = smooth::chosen(&fit, training, asked)?;
        fit.outcome.notes.extend(smooth::landmarks_note(&terms, training.x.rows()));
        Ok((fit, Classifier::Smooth(smoothing), Some(terms)))
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
        let serves = match self.spec {
            Spec::Auto(_) => Serves::Function { neighbours: &tried, weights, smooth: None },
            _ => Serves::Votes { neighbours: &tried, weights },
        };
        let mut fit = self.spec.fit(&Training { serves, ..*training }, observer)?;
        self.reduce(&mut fit, training.x)?;
        let k = match (k, &fit.outcome.choice) {
            (K::Fixed(k), _) => k,
            (K::Auto, Some(choice)) if self.dims.is_none() => choice.chosen.k.unwrap_or(1),
            (K::Auto, _) => {
                let mapped = fit.metric.transform(training.x)?;
                let scores = judge_k(&mapped, training.y, &tried, weights, Validation::LeaveOneOut)?;
                best_k(&scores).unwrap_or(1)
            }
        };
        Ok((fit, Voting { k, weights }))
    }
}

/// Says so where the features were divided to stay in the range of numbers.
pub(super) fn rescaled_note(preparation: &Preparation) -> Option<String> {
    let scale = preparation.rescaled()?;
    Some(format!(
        "all features were divided by {scale:e}, a power of two: their squares leave the range of floating point. Which rows are \
         nearest stays the same; distances and the objective are those of the divided features"
    ))
}
