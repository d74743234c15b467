use super::classifier::{Decide, Mapped};
use super::{Model, Rows};
use crate::robust::{Ball, Norm, Space};
use crate::{Error, Matrix, Result};

/// How far beyond the border a counterfactual goes at first, as a part of its distance: ten times as far where the rounding of
/// the input's numbers takes it back.
const BEYOND: f64 = 1e-9;
/// How often that is tried.
const TRIES: usize = 6;

/// The nearest row that is predicted as another class: what would have to change.
///
/// Only columns of numbers change. It is exact: no nearer row changes the class, but for the part of 1e-9 by which it goes beyond the
/// border.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Counterfactual {
    /// The class of the row.
    pub label: u32,
    /// The class of the counterfactual.
    pub other: u32,
    /// How far it is over the columns of numbers, in the space and the norm that were asked for.
    pub distance: f64,
    /// The counterfactual, prepared.
    pub prepared: Vec<f64>,
    /// The same in the units of the input, a number for each feature of the schema; none for categories and for yes and no.
    pub numbers: Vec<Option<f64>>,
    /// By how much these differ from the row's.
    pub changes: Vec<Option<f64>>,
}

/// For each row the nearest one of another class; none where no change of the numbers makes one.
pub(super) fn find(
    decide: &dyn Decide,
    rows: &Mapped<'_>,
    norm: Norm,
    space: Space,
) -> Result<Vec<Option<Counterfactual>>> {
    let model = rows.model;
    let ball = Ball::new(&model.metric, norm, &moves(model, space)?)?;
    let labels = decide.predict(rows)?;
    let mut found: Vec<Option<Counterfactual>> = vec![None; labels.len()];
    let mut open: Vec<usize> = (0..labels.len()).collect();
    let mut beyond = BEYOND;
    for _ in 0..TRIES {
        if open.is_empty() {
            break;
        }
        let part = rows.prepared.select_rows(&open);
        let asked = model.map(Rows::Prepared(&part))?;
        let own: Vec<u32> = open.iter().map(|&q| labels[q]).collect();
        let steps = decide.crossings(&asked, &own, &ball, beyond)?;
        let moved = steps.iter().zip(&open).filter_map(|(step, &q)| {
            let moved = ball.stepped(rows.prepared.row(q), step.as_ref()?)?;
            Some((q, model.preparation.restored(&moved)))
        });
        let made: Vec<_> = moved.collect();
        let values = made.iter().flat_map(|(_, (_, again))| again.iter().copied()).collect();
        let again = Matrix::from_vec(made.len(), model.metric.features(), values)?;
        let others = decide.predict(&model.map(Rows::Prepared(&again))?)?;
        open.clear();
        for ((q, (numbers, prepared)), other) in made.into_iter().zip(others) {
            if other == labels[q] {
                open.push(q);
                continue;
            }
            let row = rows.prepared.row(q);
            let before = model.preparation.restored(row).0;
            let changes = numbers.iter().zip(before).map(|(to, from)| Some((*to)? - from?)).collect();
            let distance = ball.step_between(row, &prepared);
            found[q] = Some(Counterfactual { label: labels[q], other, distance, prepared, numbers, changes });
        }
        beyond *= 10.0;
    }
    Ok(found)
}

/// How far each prepared feature moves per step: categories not at all.
fn moves(model: &Model, space: Space) -> Result<Vec<f64>> {
    if model.preparation.is_unit() {
        return Err(Error::parameter(
            "scaling",
            "a counterfactual changes columns one by one, and rows that were divided by their lengths change in all of them; leave \
             `scaling = unit` out",
        ));
    }
    let units = model.preparation.units();
    let per_step = |unit: f64| if space == Space::Input { 1.0 / unit } else { 1.0 };
    match space {
        Space::Prepared | Space::Input => Ok(units.into_iter().map(|unit| unit.map_or(0.0, per_step)).collect()),
        Space::Learned => Err(Error::parameter(
            "radius_space",
            "a counterfactual is the nearest on the prepared features or in the input's units",
        )),
    }
}
