use super::shown::sample;
use super::{Curve, Form, History, PairsView, Plane, RowsView};
use crate::classify::{Kernel, Validation, judge_k};
use crate::data::Pair;
use crate::evaluate::statistics::share_band;
use crate::method::{Choice, Judged, Method, MetricKind};
use crate::model::{Classifier, Rows, TrainingRows};
use crate::robust::{Norm, Radius, Space};
use crate::{Error, Labels, Matrix, Metric, Model, Result, Task};
use serde::{Deserialize, Serialize};

/// All that a page about a model shows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelView {
    /// Where the rows came from.
    pub source: String,
    /// The method's name.
    pub method: String,
    /// How it predicts, in words.
    pub classifier: String,
    /// The classes.
    pub classes: Vec<ClassView>,
    /// The prepared features' names.
    pub features: Vec<String>,
    /// How the fit ended.
    pub ending: Ending,
    /// What can be expected of it, where something can.
    pub expected: Option<Expected>,
    /// Of rows without labels: how well pairs are told.
    pub pairs: Option<PairsView>,
    /// The share of the largest class; of pairs, of the more frequent kind.
    pub majority: f64,
    /// What a method that chooses has tried, the best first.
    pub tried: Vec<Tried>,
    /// How the fit came to its result.
    pub history: History,
    /// The metric.
    pub form: Form,
    /// Its training rows, where it has them.
    pub rows: Option<RowsView>,
    /// Certified accuracy of the model's own function on rows that it was fitted on, where it is no vote.
    pub own_certified: Option<Curve>,
    /// The function over the plane, of a model of two numbers.
    pub planes: Vec<Plane>,
    /// Pairs of rows that determine the optimum.
    pub support: Vec<SupportView>,
    /// How many there are.
    pub support_of: usize,
    /// The features whose values stand beside a pair.
    pub support_features: Vec<String>,
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassView {
    /// Its name.
    pub name: String,
    /// Its training rows.
    pub rows: usize,
}

impl ClassView {
    /// Every class of some labels.
    #[must_use]
    pub fn of(labels: &Labels) -> Vec<Self> {
        labels.classes().iter().zip(labels.counts()).map(|(name, rows)| Self { name: name.clone(), rows }).collect()
    }
}

/// How a fit ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ending {
    /// In words.
    pub status: String,
    /// Whether it did what was asked of it.
    pub converged: bool,
    /// Objective.
    pub objective: Option<f64>,
    /// Certified lower bound.
    pub bound: Option<f64>,
    /// Relative gap.
    pub gap: Option<f64>,
    /// The trade-off.
    pub c: Option<f64>,
    /// `c_max`.
    pub c_max: Option<f64>,
    /// Iterations.
    pub iterations: usize,
    /// What should be known.
    pub notes: Vec<String>,
}

/// An accuracy, and how it was come by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Expected {
    /// The part of the rows that is predicted correctly.
    pub accuracy: f64,
    /// Where it lies with a chance of 95 %, as far as the number of rows tells.
    pub band: (f64, f64),
    /// On how many rows.
    pub rows: usize,
    /// Whether the rows were new to the model.
    pub how: How,
}

/// How an accuracy was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum How {
    /// On rows that were held out.
    HeldOut,
    /// Each row by all others; the metric was learned from all.
    LeaveOneOut,
    /// On the rows that it was fitted on.
    Training,
    /// On pairs of rows: see [`ModelView::pairs`].
    Pairs,
}

/// What a method that chooses has tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tried {
    /// In words.
    pub what: String,
    /// The part of the held-out rows that it predicts correctly.
    pub accuracy: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// A pair of rows that determines the optimum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SupportView {
    /// Where the rows stood.
    pub places: [String; 2],
    /// Their classes.
    pub labels: [u32; 2],
    /// Whether it is a pair of different classes at the margin, and not one that determines the diameter.
    pub pushes: bool,
    /// Its multiplier.
    pub multiplier: f64,
    /// Its Euclidean distance on the prepared features.
    pub before: f64,
    /// Its learned distance.
    pub after: f64,
    /// The values of each row in the units of the input, where these are numbers.
    pub values: [Vec<Option<f64>>; 2],
}

impl ModelView {
    /// Of a model, of how its fit went, and of the name of its rows' source.
    ///
    /// # Errors
    /// If a decomposition fails or the rows cannot be measured.
    pub fn of(model: &Model, source: impl Into<String>, history: History) -> Result<Self> {
        if model.task == Task::Regression {
            return Err(Error::data("pages show classes, and the model predicts numbers"));
        }
        let names = model.preparation.feature_names();
        let total: usize = model.class_counts.iter().sum();
        let largest = model.class_counts.iter().copied().max().unwrap_or(0);
        let outcome = &model.outcome;
        let named = |name: &String| if model.task == Task::Pairs { "rows".to_owned() } else { name.clone() };
        let class = |(name, &rows): (&String, &usize)| ClassView { name: named(name), rows };
        let mut view = Self {
            source: source.into(),
            method: model.spec.name().to_owned(),
            classifier: model.classifier.to_string(),
            classes: model.classes.iter().zip(&model.class_counts).map(class).collect(),
            ending: Ending {
                status: outcome.status.describe().to_owned(),
                converged: outcome.status.converged(),
                objective: outcome.objective,
                bound: outcome.dual,
                gap: outcome.gap,
                c: outcome.c,
                c_max: outcome.c_max,
                iterations: outcome.iterations,
                notes: outcome.notes.clone(),
            },
            expected: expected(model)?,
            pairs: PairsView::of(model),
            majority: largest as f64 / total.max(1) as f64,
            tried: outcome.choice.as_ref().map_or_else(Vec::new, tried),
            history,
            form: Form::of(&model.metric, &names)?,
            features: names,
            ..Self::default()
        };
        if let Some(PairsView { scores: Some(scores), .. }) = &view.pairs {
            let similar = scores.similar as f64 / scores.pairs.max(1) as f64;
            view.majority = similar.max(1.0 - similar);
        }
        if let Some(rows) = &model.training {
            view.see_rows(model, rows)?;
        }
        Ok(view)
    }

    /// With the distances of these pairs, of a model of rows without labels that has them.
    ///
    /// # Errors
    /// If the rows cannot be mapped.
    pub fn with_pairs(mut self, model: &Model, pairs: &[Pair]) -> Result<Self> {
        if let (Some(view), Some(rows)) = (&mut self.pairs, &model.training) {
            view.see(rows, &model.metric, pairs)?;
        }
        Ok(self)
    }

    fn see_rows(&mut self, model: &Model, rows: &TrainingRows) -> Result<()> {
        let seen = RowsView::of(rows, &model.metric, &self.features)?;
        self.planes = if self.pairs.is_some() { Vec::new() } else { Plane::all(model, &seen.shown)? };
        self.own_certified = own_certified(model, rows)?;
        self.rows = Some(seen);
        self.list_support(model, rows);
        Ok(())
    }

    fn list_support(&mut self, model: &Model, rows: &TrainingRows) {
        /// Support pairs that are listed.
        const SUPPORT: usize = 40;
        /// Features whose values stand beside a pair.
        const VALUES: usize = 4;
        let Some(certificate) = model.certificate.as_ref().filter(|_| model.task != Task::Pairs) else { return };
        let support = certificate.support();
        self.support_of = support.len();
        let diagonal = column_weights(model);
        let mut order: Vec<usize> = (0..diagonal.len()).filter(|&j| diagonal[j].is_some()).collect();
        order.sort_by(|&a, &b| {
            diagonal[b].partial_cmp(&diagonal[a]).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(&b))
        });
        order.truncate(VALUES);
        let columns = &model.preparation.schema().features;
        self.support_features = order.iter().map(|&j| columns[j].name.clone()).collect();
        let values = |i: usize| {
            let (restored, _) = model.preparation.restored(rows.x.row(i));
            order.iter().map(|&j| restored[j]).collect::<Vec<_>>()
        };
        let plain = Metric::euclidean(rows.x.cols());
        for s in support.iter().filter(|s| s.first.max(s.second) < rows.x.rows()).take(SUPPORT) {
            let (a, b) = (rows.x.row(s.first), rows.x.row(s.second));
            self.support.push(SupportView {
                places: [rows.place(s.first), rows.place(s.second)],
                labels: [rows.y.codes()[s.first], rows.y.codes()[s.second]],
                pushes: s.pushes,
                multiplier: s.multiplier,
                before: plain.squared_distance(a, b).sqrt(),
                after: model.metric.squared_distance(a, b).sqrt(),
                values: [values(s.first), values(s.second)],
            });
        }
    }
}

/// The weight of each numeric column of the input; none of the others.
fn column_weights(model: &Model) -> Vec<Option<f64>> {
    let (diagonal, mut at) = (model.metric.diagonal(), 0);
    let mut weights = Vec::new();
    for feature in &model.preparation.schema().features {
        match &feature.encoding {
            crate::prepare::Encoding::Category { levels } => {
                weights.push(None);
                at += levels.len();
            }
            crate::prepare::Encoding::Numeric => {
                weights.push(Some(diagonal[at]));
                at += 1;
            }
            _ => {
                weights.push(None);
                at += 1;
            }
        }
    }
    weights
}

/// The accuracy on rows that were held out or, where none were, of each row by the others, or on the rows themselves.
fn expected(model: &Model) -> Result<Option<Expected>> {
    /// Rows that accuracies are taken from.
    const JUDGED: usize = 4000;
    let one = |accuracy: f64, rows: usize, how: How| Expected { accuracy, band: share_band(accuracy, rows), rows, how };
    let choice = model.outcome.choice.as_ref().filter(|c| c.rows > 0);
    if let Some((estimate, rows)) = choice.and_then(|c| Some((c.estimate?, c.rows))) {
        return Ok(Some(one(estimate, rows, How::HeldOut)));
    }
    if let Classifier::Pairs(pairing) = &model.classifier {
        let scores = pairing.scores.and_then(|s| Some((s.accuracy?, s.pairs)));
        return Ok(scores.map(|(accuracy, pairs)| one(accuracy, pairs, How::Pairs)));
    }
    let Some(rows) = &model.training else { return Ok(None) };
    let some = sample(&rows.y, JUDGED);
    let (x, y) = (rows.x.select_rows(&some), rows.y.select(&some));
    if let Some(voting) = model.classifier.voting() {
        if voting.k >= x.rows() {
            return Ok(None);
        }
        let mapped = model.metric.transform(&x)?;
        let scores = judge_k(&mapped, &y, &[voting.k], voting.weights, Validation::LeaveOneOut)?;
        return Ok(scores.first().map(|s| one(s.accuracy, some.len(), How::LeaveOneOut)));
    }
    let right = model.predict(Rows::Prepared(&x))?.iter().zip(y.codes()).filter(|(a, b)| a == b).count();
    Ok(Some(one(right as f64 / some.len().max(1) as f64, some.len(), How::Training)))
}

/// How far the model's function holds on its training rows; of a vote, which every row would win, nothing.
fn own_certified(model: &Model, rows: &TrainingRows) -> Result<Option<Curve>> {
    /// Rows that are certified.
    const CERTIFIED: usize = 600;
    if matches!(model.classifier, Classifier::Vote(_) | Classifier::Pairs(_)) {
        return Ok(None);
    }
    let some = sample(&rows.y, CERTIFIED);
    let x: Matrix = rows.x.select_rows(&some);
    let told = model.certify(Rows::Prepared(&x), Radius::new(Norm::L2, Space::Prepared))?;
    let right = told.iter().zip(&some).filter(|((label, _), i)| *label == rows.y.codes()[**i]);
    Ok(Some(Curve::surviving(right.map(|((_, r), _)| *r).collect(), some.len())))
}

/// What was tried, the best first, and what was chosen in any case.
fn tried(choice: &Choice) -> Vec<Tried> {
    /// What was tried, the best of it.
    const TRIED: usize = 12;
    let one =
        |judged: &Judged| Tried { what: named(judged), accuracy: judged.accuracy, chosen: *judged == choice.chosen };
    let mut all: Vec<Tried> = choice.tried.iter().map(one).collect();
    all.sort_by(|a, b| b.accuracy.total_cmp(&a.accuracy).then(b.chosen.cmp(&a.chosen)));
    let chosen = all.iter().position(|t| t.chosen);
    match chosen {
        Some(at) if at >= TRIED => all.swap(TRIED - 1, at),
        None => all.insert(0, Tried { chosen: true, ..one(&choice.chosen) }),
        _ => {}
    }
    all.truncate(TRIED);
    all
}

/// `lip-local, c-rel 0.1, 25 % Euclidean; 5 neighbours`.
fn named(judged: &Judged) -> String {
    let mut text = match judged.metric {
        MetricKind::Euclidean => "Euclidean".to_owned(),
        MetricKind::Within => "within-class Mahalanobis".to_owned(),
        other => other.name().to_owned(),
    };
    if let Some(c) = judged.c_rel {
        text += format!(", c-rel {c:.4}").trim_end_matches('0');
    }
    if judged.euclid > 0.0 && judged.euclid < 1.0 {
        text += &format!(", {:.0} % Euclidean", 100.0 * judged.euclid);
    }
    match (judged.k, judged.smoothness.map(|s| s.kernel)) {
        (Some(1), _) => text += "; nearest row",
        (Some(k), _) => text += &format!("; {k} neighbours"),
        (None, Some(Kernel::Laplace)) => text += "; smooth function",
        (None, Some(Kernel::Gaussian)) => text += "; smooth function, Gaussian",
        (None, None) => {}
    }
    text
}
