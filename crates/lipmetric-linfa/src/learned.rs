use crate::params::table;
use crate::{LearnedDistance, Result};
use linfa::traits::{PredictInplace, Transformer};
use linfa::{DatasetBase, Float, Label};
use lipmetric::method::Outcome;
use lipmetric::model::Predictor;
use lipmetric::robust::Radius;
use lipmetric::{Matrix, Model};
use ndarray::{Array1, Array2, ArrayBase, Data, Ix2, Zip};
use std::marker::PhantomData;

/// What a [`MetricLearner`](crate::MetricLearner) has learned: a distance, and what predicts by it.
///
/// It predicts by linfa's [`Predict`](linfa::traits::Predict), and maps rows by [`Transformer`]: Euclidean distances between
/// mapped rows are the learned ones. These traits cannot say that something is wrong with the rows and panic, as all of linfa does;
/// [`Learned::try_predict`] and [`Learned::try_transform`] return an error instead.
#[derive(Debug)]
pub struct Learned<F, L> {
    predictor: Predictor,
    classes: Vec<L>,
    number: PhantomData<fn() -> F>,
}

impl<F: Float, L: Label> Learned<F, L> {
    pub(crate) fn new(model: Model, classes: Vec<L>) -> Result<Self> {
        Ok(Self { predictor: Predictor::new(model)?, classes, number: PhantomData })
    }

    /// The model of the library: everything else, such as the certificate; lipmetric-io writes its file.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.predictor.model()
    }

    /// How the fit ended: status, objective, certified gap.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.model().outcome
    }

    /// The classes, in the order of the columns of [`Learned::probabilities`].
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// The learned map on the features as given, a row for each direction: the distance of two rows is the length of what it
    /// makes of their difference.
    #[must_use]
    pub fn components(&self) -> Array2<F> {
        array(&self.model().components())
    }

    /// The learned distance between rows as given, for the indices of linfa-nn.
    #[must_use]
    pub fn distance(&self) -> LearnedDistance<F> {
        LearnedDistance::new(self.components())
    }

    /// The class of each row.
    ///
    /// # Errors
    /// If the rows have another number of features, or a number is infinite.
    pub fn try_predict<D: Data<Elem = F>>(&self, records: &ArrayBase<D, Ix2>) -> Result<Array1<L>> {
        let codes = self.predictor.predict(&table(records, &[])?)?;
        Ok(codes.into_iter().map(|code| self.classes[code as usize].clone()).collect())
    }

    /// The rows as the learned map gives them.
    ///
    /// # Errors
    /// As [`Learned::try_predict`].
    pub fn try_transform<D: Data<Elem = F>>(&self, records: &ArrayBase<D, Ix2>) -> Result<Array2<F>> {
        Ok(array(&self.predictor.transform(&table(records, &[])?)?))
    }

    /// The probability of each class: shares of the votes, or the calibrated values of a function. Nothing where a function was
    /// not calibrated.
    ///
    /// # Errors
    /// As [`Learned::try_predict`].
    pub fn probabilities<D: Data<Elem = F>>(&self, records: &ArrayBase<D, Ix2>) -> Result<Option<Array2<F>>> {
        Ok(self.predictor.shares(&table(records, &[])?)?.as_ref().map(array))
    }

    /// The certified radius of each row: if it moves by less, it keeps its class.
    ///
    /// # Errors
    /// As [`Learned::try_predict`]; or if nothing can be certified about what predicts, such as a weighted vote.
    pub fn radii<D: Data<Elem = F>>(&self, records: &ArrayBase<D, Ix2>, radius: Radius) -> Result<Array1<F>> {
        let told = self.predictor.certify(&table(records, &[])?, radius)?;
        Ok(told.into_iter().map(|(_, radius)| F::cast(radius)).collect())
    }
}

fn array<F: Float>(matrix: &Matrix) -> Array2<F> {
    Array2::from_shape_fn((matrix.rows(), matrix.cols()), |at| F::cast(matrix[at]))
}

impl<F: Float, L: Label, D: Data<Elem = F>> PredictInplace<ArrayBase<D, Ix2>, Array1<L>> for Learned<F, L> {
    /// # Panics
    /// If [`Learned::try_predict`] returns an error, or there are not as many targets as rows.
    fn predict_inplace<'a>(&'a self, records: &'a ArrayBase<D, Ix2>, targets: &mut Array1<L>) {
        assert_eq!(
            records.nrows(),
            targets.len(),
            "The number of data points must match the number of output targets."
        );
        match self.try_predict(records) {
            Ok(found) => Zip::from(targets).and(&found).for_each(|target, class| target.clone_from(class)),
            Err(error) => panic!("{error}"),
        }
    }

    fn default_target(&self, records: &ArrayBase<D, Ix2>) -> Array1<L> {
        Array1::default(records.nrows())
    }
}

impl<F: Float, L: Label, D: Data<Elem = F>> Transformer<&ArrayBase<D, Ix2>, Array2<F>> for Learned<F, L> {
    /// # Panics
    /// If [`Learned::try_transform`] returns an error.
    fn transform(&self, records: &ArrayBase<D, Ix2>) -> Array2<F> {
        match self.try_transform(records) {
            Ok(mapped) => mapped,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<F: Float, L: Label, D: Data<Elem = F>> Transformer<ArrayBase<D, Ix2>, Array2<F>> for Learned<F, L> {
    /// # Panics
    /// If [`Learned::try_transform`] returns an error.
    fn transform(&self, records: ArrayBase<D, Ix2>) -> Array2<F> {
        self.transform(&records)
    }
}

impl<F: Float, L: Label, D: Data<Elem = F>, T> Transformer<DatasetBase<ArrayBase<D, Ix2>, T>, DatasetBase<Array2<F>, T>>
    for Learned<F, L>
{
    /// The same targets and weights, the records mapped.
    ///
    /// # Panics
    /// If [`Learned::try_transform`] returns an error.
    fn transform(&self, dataset: DatasetBase<ArrayBase<D, Ix2>, T>) -> DatasetBase<Array2<F>, T> {
        let mapped: Array2<F> = self.transform(&dataset.records);
        DatasetBase::new(mapped, dataset.targets).with_weights(dataset.weights)
    }
}
