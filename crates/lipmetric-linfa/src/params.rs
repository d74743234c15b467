use crate::{Error, Learned, Result};
use linfa::dataset::AsSingleTargets;
use linfa::traits::Fit;
use linfa::{DatasetBase, Float, Label, ParamGuard};
use lipmetric::Labels;
use lipmetric::classify::{K, Weights};
use lipmetric::data::{Column, Table};
use lipmetric::method::{Auto, Choose, Method, Spec};
use lipmetric::model::{ClassifierSpec, Recipe};
use lipmetric::prepare::{Dataset, Fill, Roles, Scaling};
use lipmetric::solver::{Observer, Silent};
use ndarray::{ArrayBase, ArrayView1, Data, Ix2};

/// A method that learns a distance, with how rows are prepared and predicted: its parameters are checked.
///
/// It is made by [`MetricLearner::params`], and learns by linfa's [`Fit`].
#[derive(Debug, Clone, PartialEq)]
pub struct MetricLearner {
    spec: Spec,
    classifier: ClassifierSpec,
    fill: Fill,
    scaling: Choose<Scaling>,
}

/// The same before its parameters are checked; [`Fit`] checks them.
///
/// ```
/// use linfa::ParamGuard;
/// use lipmetric_linfa::{MetricLearner, lipmetric::method::Lmnn};
/// let wrong = MetricLearner::params(Lmnn::new().targets(0)).check().unwrap_err();
/// assert!(wrong.to_string().starts_with("parameter `targets`"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MetricLearnerParams(MetricLearner);

impl MetricLearner {
    /// A method of the library with its parameters. One neighbour votes, unless [`MetricLearnerParams::classifier`] says otherwise;
    /// [`Auto`] chooses what predicts together with the distance.
    pub fn params(method: impl Into<Spec>) -> MetricLearnerParams {
        let spec = method.into();
        let classifier = match spec {
            Spec::Auto(_) => ClassifierSpec::Auto,
            _ => ClassifierSpec::Vote { k: K::Fixed(1), weights: Weights::Uniform },
        };
        MetricLearnerParams(Self { spec, classifier, fill: Fill::default(), scaling: Choose::Auto })
    }

    /// The distance and what predicts by it, chosen together by cross-validation.
    #[must_use]
    pub fn auto() -> MetricLearnerParams {
        Self::params(Auto::new())
    }

    /// The method and its parameters.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// [`Fit::fit`] under the eyes of an observer, who may end it: [`Budget`](lipmetric::solver::Budget) after some time.
    ///
    /// The dataset's weights say how much each row counts while the distance is learned. A missing number is NaN.
    ///
    /// # Errors
    /// If there are fewer than two classes, a number is infinite, or the method refuses the rows.
    pub fn fit_observed<F: Float, D: Data<Elem = F>, L: Label, T: AsSingleTargets<Elem = L>>(
        &self,
        dataset: &DatasetBase<ArrayBase<D, Ix2>, T>,
        observer: &mut dyn Observer,
    ) -> Result<Learned<F, L>> {
        let (records, targets) = (dataset.records(), dataset.as_single_targets());
        let features = table(records, dataset.feature_names())?;
        let (classes, labels) = coded(targets)?;
        let label = dataset.target_names().first().map_or("label", String::as_str);
        let data = Dataset::labelled(&features, label, labels, &Roles::default())?;
        let weights = dataset.weights().map(|w| w.iter().map(|&w| f64::from(w)).collect::<Vec<_>>());
        let recipe = Recipe::new(&self.spec)
            .prepared(self.fill, self.scaling)
            .predicting(self.classifier)
            .weighing(weights.as_deref());
        Learned::new(recipe.fit(&data, None, observer)?, classes)
    }
}

impl MetricLearnerParams {
    /// What predicts: votes of neighbours, the paper's function, a smooth function.
    #[must_use]
    pub fn classifier(mut self, classifier: ClassifierSpec) -> Self {
        self.0.classifier = classifier;
        self
    }

    /// So many neighbours vote.
    #[must_use]
    pub fn neighbours(self, k: usize) -> Self {
        self.classifier(ClassifierSpec::Vote { k: K::Fixed(k), weights: Weights::Uniform })
    }

    /// What stands in for a missing number (NaN): the median of the column, unless another rule is given.
    #[must_use]
    pub fn fill(mut self, fill: Fill) -> Self {
        self.0.fill = fill;
        self
    }

    /// How features are scaled before the distance is learned: to mean 0 and deviation 1, unless another scaling is given, or
    /// [`Auto`] finds that the normal quantiles of their ranks predict better.
    #[must_use]
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.0.scaling = scaling.into();
        self
    }
}

impl ParamGuard for MetricLearnerParams {
    type Checked = MetricLearner;
    type Error = Error;

    fn check_ref(&self) -> Result<&MetricLearner> {
        self.0.spec.check()?;
        Ok(&self.0)
    }

    fn check(self) -> Result<MetricLearner> {
        self.check_ref()?;
        Ok(self.0)
    }
}

impl<F: Float, D: Data<Elem = F>, L: Label, T: AsSingleTargets<Elem = L>> Fit<ArrayBase<D, Ix2>, T, Error>
    for MetricLearner
{
    type Object = Learned<F, L>;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<Self::Object> {
        self.fit_observed(dataset, &mut Silent)
    }
}

/// A number as the library takes it.
pub(crate) fn double<F: Float>(value: F) -> Result<f64> {
    value.to_f64().ok_or_else(|| lipmetric::Error::data("a number does not fit 64 bits").into())
}

/// The columns of records, by their names where there are some.
pub(crate) fn table<F: Float, D: Data<Elem = F>>(records: &ArrayBase<D, Ix2>, names: &[String]) -> Result<Table> {
    let name = |j: usize| names.get(j).cloned().unwrap_or_else(|| format!("x{}", j + 1));
    let column = |(j, values): (usize, ArrayView1<'_, F>)| {
        Ok(Column::numbers(name(j), values.iter().map(|v| double(*v)).collect::<Result<_>>()?))
    };
    let columns = records.columns().into_iter().enumerate().map(column).collect::<Result<_>>()?;
    let mut table = Table::new("the dataset", columns);
    table.named = !names.is_empty();
    Ok(table)
}

/// The classes in order, and the labels by their codes.
fn coded<L: Label>(targets: ArrayView1<'_, L>) -> Result<(Vec<L>, Labels)> {
    let mut classes: Vec<L> = targets.iter().cloned().collect();
    classes.sort_unstable();
    classes.dedup();
    let codes = targets.iter().map(|label| classes.partition_point(|c| c < label) as u32).collect();
    // A text is shown with quotes, which are no part of it.
    let name = |label: &L| format!("{label:?}").trim_matches('"').to_owned();
    let labels = Labels::from_codes(classes.iter().map(name).collect(), codes)?;
    Ok((classes, labels))
}
