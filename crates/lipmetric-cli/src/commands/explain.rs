//! Why a row is predicted as it is: its nearest training rows, and the features that bring it near to them.

use crate::failure::{Failure, Result};
use crate::output::short;
use lipmetric::data::Column;
use lipmetric::model::{Predictor, Rows};
use lipmetric::{Matrix, Model};

/// How many features are named with a neighbour.
const NAMED: usize = 3;

/// Tells the nearest training rows of a model.
pub(super) struct Explainer {
    names: Vec<String>,
    count: usize,
}

impl Explainer {
    pub(super) fn new(model: &Model, count: usize) -> Result<Self> {
        let rows = model.training_rows()?;
        if count == 0 || count > rows.x.rows() {
            return Err(Failure::Usage(format!(
                "--neighbours: {count} is outside 1 to {}, the number of training rows",
                rows.x.rows()
            )));
        }
        Ok(Self { names: model.preparation.feature_names(), count })
    }

    /// For each neighbour its place in the training data, label and distance, and which features the distance is made of.
    pub(super) fn columns(&self, predictor: &Predictor, x: &Matrix) -> Result<Vec<Column>> {
        let model = predictor.model();
        let rows = model.training_rows()?;
        let found = predictor.neighbours(Rows::Prepared(x), self.count)?;
        let mut columns = Vec::new();
        for at in 0..self.count {
            let near = |i: usize| found.indices(i)[at];
            let name = |what: &str| format!("neighbour{}_{what}", at + 1);
            let all = 0..x.rows();
            columns.push(Column::texts(name("row"), all.clone().map(|i| rows.place(near(i)))));
            columns.push(Column::texts(name("label"), all.clone().map(|i| rows.y.text(near(i)))));
            let distance = |i: usize| found.squared_distances(i)[at].sqrt();
            columns.push(Column::numbers(name("distance"), all.clone().map(distance).collect()));
            let because = |i: usize| self.parts(model, x.row(i), rows.x.row(near(i)));
            columns.push(Column::texts(name("differs_in"), all.map(because)));
        }
        Ok(columns)
    }

    /// The features with the largest parts of a squared distance `d' M d`: feature j has `d_j (M d)_j`. Parts add up to the whole
    /// and may be negative, where a feature brings the rows nearer to each other.
    fn parts(&self, model: &Model, a: &[f64], b: &[f64]) -> String {
        let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let mut pulled = vec![0.0; difference.len()];
        if model.metric.is_euclidean() {
            pulled.clone_from(&difference);
        } else {
            let factor = model.metric.factor();
            for k in 0..factor.rows() {
                let mapped: f64 = factor.row(k).iter().zip(&difference).map(|(l, d)| l * d).sum();
                pulled.iter_mut().zip(factor.row(k)).for_each(|(p, l)| *p += l * mapped);
            }
        }
        let parts: Vec<f64> = difference.iter().zip(&pulled).map(|(d, p)| d * p).collect();
        let total: f64 = parts.iter().sum();
        if total <= 0.0 {
            return String::new();
        }
        let mut order: Vec<usize> = (0..parts.len()).filter(|&j| parts[j] > 0.0).collect();
        order.sort_by(|&i, &j| parts[j].total_cmp(&parts[i]));
        let part = |&j: &usize| format!("{} {} %", self.names[j], short(100.0 * parts[j] / total));
        order.iter().take(NAMED).map(part).collect::<Vec<_>>().join("; ")
    }
}
