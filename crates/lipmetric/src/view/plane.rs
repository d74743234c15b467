use super::Shown;
use crate::classify::Prediction;
use crate::model::{Classifier, Extending, Rows, Voting};
use crate::prepare::{Encoding, Preparation, Step};
use crate::{Matrix, Model, Result};
use serde::{Deserialize, Serialize};

/// Places across and up at which the function is asked.
const ACROSS: usize = 88;
const UP: usize = 66;
/// What is seen beyond the rows, as a part of their range.
const MARGIN: f64 = 0.06;

/// A classifier's function over a plane of two features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plane {
    /// Which function it is, in words.
    pub function: String,
    /// The features, across and up.
    pub axes: [Axis; 2],
    /// Places across.
    pub across: usize,
    /// Places up.
    pub up: usize,
    /// The class at each place, from the lower left, row by row.
    pub labels: Vec<u32>,
    /// The function there: of two classes positive for the second, else how far the predicted class is ahead.
    pub values: Vec<f64>,
    /// Whether the sign of the function is the class.
    pub signed: bool,
    /// Where the rows are that are drawn, as prepared.
    pub x: Vec<f64>,
    /// Likewise.
    pub y: Vec<f64>,
}

/// A feature along an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The least prepared value that is seen.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// In the units of the input a value is `value * scale + offset`.
    pub scale: f64,
    /// Likewise.
    pub offset: f64,
}

impl Plane {
    /// The model's own function, the nearest row under its distance, and the extension of its values, where it has some: of a model
    /// of two numbers, else nothing.
    pub(super) fn all(model: &Model, shown: &Shown) -> Result<Vec<Self>> {
        let (Some(axes), Some(rows)) = (axes(model), &model.training) else { return Ok(Vec::new()) };
        let mut asked = vec![model.classifier.clone()];
        let nearest = Voting::nearest();
        if model.classifier.voting() != Some(nearest) {
            asked.push(Classifier::Vote(nearest));
        }
        if rows.values.is_some() && !matches!(model.classifier, Classifier::Extension(_)) {
            asked.push(Classifier::Extension(Extending::learned()));
        }
        let at = |j: usize| shown.rows.iter().map(|&i| rows.x[(i, j)]).collect::<Vec<f64>>();
        let (x, y, grid) = (at(0), at(1), grid(&axes));
        let one = |classifier: Classifier| {
            let asked = Model { classifier, ..model.clone() };
            let told = asked.explain(Rows::Prepared(&grid))?;
            let signed = model.classes.len() == 2;
            Ok(Self {
                function: asked.classifier.to_string(),
                axes: axes.clone(),
                across: ACROSS,
                up: UP,
                labels: told.iter().map(|p| p.label).collect(),
                values: told.iter().map(|p| value(p, signed)).collect(),
                signed,
                x: x.clone(),
                y: y.clone(),
            })
        };
        asked.into_iter().map(one).collect()
    }
}

/// The ranges of two numeric features; none where there are others.
fn axes(model: &Model) -> Option<[Axis; 2]> {
    let x = &model.training.as_ref()?.x;
    if x.cols() != 2 || x.rows() == 0 {
        return None;
    }
    let (names, units) = (model.preparation.feature_names(), input_units(&model.preparation)?);
    let axis = |j: usize| {
        let column = (0..x.rows()).map(|i| x[(i, j)]);
        let (low, high) = column.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let more = if high > low { MARGIN * (high - low) } else { 1.0 };
        let (scale, offset) = units[j];
        Axis { name: names[j].clone(), from: low - more, to: high + more, scale, offset }
    };
    Some([axis(0), axis(1)])
}

/// Scale and offset of each prepared column; none where one is a category or a yes and no, or rows are divided by their lengths.
fn input_units(preparation: &Preparation) -> Option<Vec<(f64, f64)>> {
    let one = |(feature, step): (&crate::prepare::Feature, &Step)| match (&feature.encoding, step) {
        (Encoding::Numeric, Step::Number { offset, scale, .. }) => Some((*scale, *offset)),
        _ => None,
    };
    if preparation.is_unit() {
        return None;
    }
    preparation.schema().features.iter().zip(preparation.steps()).map(one).collect()
}

fn grid(axes: &[Axis; 2]) -> Matrix {
    let at = |axis: &Axis, k: usize, of: usize| axis.from + (axis.to - axis.from) * k as f64 / (of - 1) as f64;
    let mut grid = Matrix::zeros(ACROSS * UP, 2);
    for v in 0..UP {
        for u in 0..ACROSS {
            grid.row_mut(v * ACROSS + u).copy_from_slice(&[at(&axes[0], u, ACROSS), at(&axes[1], v, UP)]);
        }
    }
    grid
}

/// The function at a place: differences of values, of shares of the votes, or of distances.
fn value(p: &Prediction, signed: bool) -> f64 {
    let ahead = |all: &[f64]| {
        let own = all[p.label as usize];
        let next = (0..all.len()).filter(|&c| c != p.label as usize).map(|c| all[c]).fold(f64::NEG_INFINITY, f64::max);
        own - next
    };
    let size = if !p.values.is_empty() {
        ahead(&p.values) / 2.0
    } else if p.neighbours.len() > 1 {
        ahead(&p.shares)
    } else {
        p.margin()
    };
    // A vote may overrule the nearest row; the side is the predicted class's all the same.
    let size = if size.is_nan() { 0.0 } else { size.clamp(0.0, f64::MAX) };
    if signed && p.label == 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Table};
    use crate::method::Euclidean;
    use crate::model::Recipe;
    use crate::prepare::{Dataset, Roles};
    use crate::solver::Silent;

    #[test]
    fn the_sign_of_the_function_is_the_class_and_axes_are_in_the_units_of_the_input() {
        let table = Table::new(
            "t",
            vec![
                Column::numbers("width", vec![10.0, 20.0, 30.0, 40.0]),
                Column::numbers("height", vec![1.0, 2.0, 1.0, 2.0]),
                Column::texts("kind", ["a", "a", "b", "b"]),
            ],
        );
        let data = Dataset::read(&table, &Roles::default()).unwrap();
        let model = Recipe::new(&Euclidean::new().into()).fit(&data, None, &mut Silent).unwrap();
        let shown = Shown::of(model.training.as_ref().unwrap(), 10, &[]);
        let planes = Plane::all(&model, &shown).unwrap();
        assert_eq!(planes.len(), 1);
        let plane = &planes[0];
        assert_eq!(plane.values.len(), plane.across * plane.up);
        assert!(plane.values.iter().zip(&plane.labels).all(|(v, l)| if *l == 0 { *v <= 0.0 } else { *v >= 0.0 }));
        assert!(plane.labels.contains(&0) && plane.labels.contains(&1));
        let axis = &plane.axes[0];
        assert!((axis.from * axis.scale + axis.offset - 8.2).abs() < 1e-9 && axis.name == "width");
    }
}
