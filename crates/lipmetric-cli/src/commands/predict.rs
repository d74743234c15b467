use super::explain::Explainer;
use super::pairs::{self, AskedArgs};
use super::shared::{BatchArgs, RowArgs};
use super::sparse;
use crate::failure::{Failure, Result};
use crate::input::DataArgs;
use crate::memory;
use crate::radius::NormArgs;
use crate::session::Session;
use clap::ValueEnum;
use lipmetric::classify::Prediction;
use lipmetric::data::{Column, Table};
use lipmetric::model::{Classifier, Counterfactual, Predictor, Rows};
use lipmetric::prepare::Encoding;
use lipmetric::robust::{Kind, Norm, Radius, Space};
use lipmetric::{Model, Task};
use std::path::Path;

/// The column of predicted classes.
pub(super) const PREDICTION: &str = "prediction";

/// Predict the class of each row, or its number
///
/// Rows stream through in constant memory: one row out for each row in, in the same order. The input needs the columns
/// that the model was fitted on, by name, or by position if one of the two has no header. The label column may be there or
/// not. Distances and margins are in the learned metric (its square root, which obeys the triangle inequality).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --k 1 --model h.lip
  lipmetric predict --model h.lip --data haberman
  lipmetric predict --model h.lip --data haberman --proba --radius -o out.csv
  lipmetric predict --model h.lip --data haberman --counterfactual
  lipmetric predict --model h.lip --data haberman --keep age --neighbours 3
  lipmetric datasets export haberman | lipmetric predict --model h.lip -
  lipmetric fit --data echo --method lip-i --classifier extension --model f.lip
  lipmetric predict --model f.lip --data echo --value --proba")]
// A radius and a counterfactual, in the same norm, may be asked for together.
#[command(group = clap::ArgGroup::new("measured").multiple(true))]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) batches: BatchArgs,
    /// Add a column per class: the share of the neighbours' votes or, of a model that predicts by a function, the
    /// probability of the class, calibrated on held-out rows when the model was fitted
    #[arg(long, help_heading = "Output")]
    pub(super) proba: bool,
    /// Add the distance to the nearest training row
    #[arg(long, help_heading = "Output")]
    pub(super) distance: bool,
    /// Add the margin: how much farther the nearest training row of another class is than that of the predicted class
    #[arg(long, help_heading = "Output")]
    margin: bool,
    /// Add the value of the function (models of `--classifier extension` or `smooth`). With two classes it is one column,
    /// positive for the second class; with more a column per class, of which the largest wins
    #[arg(long, help_heading = "Output")]
    value: bool,
    /// The share of the upper extension, 0 to 1: 0 is the lower extension, 1 the upper (models of `--classifier extension`)
    /// [default: the model's, one half]
    #[arg(long, value_name = "ALPHA")]
    alpha: Option<f64>,
    /// Add the certified radius: a row that moves by less keeps its predicted class. In the learned metric (radius), on the
    /// prepared features (radius_prepared) and in the units of the input's numeric columns (radius_input). `--radius` gives a
    /// certified lower bound, `--radius=exact` the distance to the nearest point of another class (one nearest neighbour or
    /// the extension)
    #[arg(long, value_enum, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = "bound", help_heading = "Output", group = "measured")]
    radius: Option<KindChoice>,
    #[command(flatten, next_help_heading = "Output")]
    norm: NormArgs,
    /// Add the nearest row that is predicted as another class: its class (counterfactual), how far it is on the prepared
    /// features (counterfactual_distance, by --radius-norm), the value of each column there (under the column's name) and the changes
    /// (change:COLUMN). Only numeric columns change. For one nearest neighbour and the extension
    #[arg(long, help_heading = "Output", group = "measured")]
    counterfactual: bool,
    /// Add the N nearest training rows: where each stood, its label, its distance, and the features that the distance is made of
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(super) neighbours: Option<usize>,
    /// Of a model of numbers (`fit --task regression`): add the least and the largest prediction (lowest, highest) that any row can
    /// get that differs by less than this from the row, on the prepared features by --radius-norm. They are certified
    #[arg(long, value_name = "LENGTH", value_parser = crate::method::real, help_heading = "Output", group = "measured")]
    within: Option<f64>,
    #[command(flatten)]
    pub(super) rows: RowArgs,
    #[command(flatten)]
    pub(super) asked: AskedArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindChoice {
    /// A certified lower bound
    Bound,
    /// The distance to the nearest point of another class
    Exact,
}

impl Args {
    /// An option that a model of sparse rows does not have.
    pub(super) fn dense_only(&self) -> Option<&'static str> {
        let given = [
            ("--margin", self.margin),
            ("--value", self.value),
            ("--alpha", self.alpha.is_some()),
            ("--radius", self.radius.is_some()),
            ("--counterfactual", self.counterfactual),
            ("--within", self.within.is_some()),
            ("--keep", self.batches.keeps()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

impl Args {
    /// An option that is told of rows, not of pairs of them.
    pub(super) fn of_rows_only(&self) -> Option<&'static str> {
        let more =
            [("--proba", self.proba), ("--distance", self.distance), ("--neighbours", self.neighbours.is_some())];
        self.dense_only().or(more.into_iter().find(|(_, given)| *given).map(|(option, _)| option))
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    if sparse::predict(args, session)? {
        return Ok(());
    }
    let (path, data) = args.batches.source()?;
    let mut model = crate::input::load_model(&path)?.model;
    if model.task == Task::Pairs || args.asked.pairs.is_some() {
        return pairs::predict(args, &model, session);
    }
    if model.task == Task::Regression {
        return numbers(args, model, (&path, &data), session);
    }
    if args.within.is_some() {
        return Err(Failure::Usage(
            "--within: the model predicts classes; --radius tells how far they hold".to_owned(),
        ));
    }
    check(args, &mut model.classifier)?;
    if args.radius.is_some() || args.counterfactual {
        memory::check_model(&model, data.max_memory(), ("--radius, --counterfactual", "leave them out"))?;
    }
    let predictor = Predictor::new(model)?;
    let explainer = args.neighbours.map(|n| Explainer::new(predictor.model(), n)).transpose()?;
    args.batches.out.run((&path, &data), &args.rows, predictor.model(), PREDICTION, session, |batch| {
        let rows = args.rows.of(batch);
        let mut columns = if args.proba || args.distance || args.margin || args.value {
            detailed(args, &predictor, &predictor.explain(rows)?)
        } else {
            vec![predictions(&predictor, predictor.predict(rows)?)]
        };
        if let Some(kind) = args.radius {
            columns.extend(radii(args, kind, &predictor, rows)?);
        }
        if args.counterfactual {
            columns.extend(counterfactuals(args.norm.norm(), &predictor, batch, rows)?);
        }
        if let Some(explainer) = &explainer {
            let x = args.rows.prepared(batch, predictor.model())?;
            columns.extend(explainer.columns(&predictor, &x)?);
        }
        Ok(columns)
    })
}

/// Predictions of a model of numbers.
fn numbers(args: &Args, mut model: Model, source: (&Path, &DataArgs), session: &Session) -> Result {
    let of_classes = [
        ("--proba", args.proba),
        ("--margin", args.margin),
        ("--value", args.value),
        ("--radius", args.radius.is_some()),
        ("--counterfactual", args.counterfactual),
    ];
    if let Some((option, _)) = of_classes.into_iter().find(|o| o.1) {
        return Err(Failure::Usage(format!(
            "{option}: the model predicts numbers, and has no classes; --within, --distance and --neighbours tell more of its \
             predictions"
        )));
    }
    match (&mut model.classifier, args.alpha) {
        (Classifier::Extension(extending), Some(alpha)) => extending.alpha = alpha,
        (_, None) => {}
        (other, Some(_)) => {
            return Err(Failure::Usage(format!(
                "--alpha: the model predicts by {}, which is no extension",
                other.describe(Task::Regression)
            )));
        }
    }
    let predictor = Predictor::new(model)?;
    let explainer = args.neighbours.map(|n| Explainer::new(predictor.model(), n)).transpose()?;
    args.batches.out.run(source, &args.rows, predictor.model(), PREDICTION, session, |batch| {
        let rows = args.rows.of(batch);
        let mut columns = vec![Column::numbers(PREDICTION, predictor.estimate(rows)?)];
        if args.distance {
            let found = predictor.neighbours(rows, 1)?;
            let nearest = (0..found.len()).map(|i| found.squared_distances(i)[0].sqrt()).collect();
            columns.push(Column::numbers("distance", nearest));
        }
        if let Some(length) = args.within {
            let ranges = predictor.ranges(rows, Radius::new(args.norm.norm(), Space::Prepared), length)?;
            columns.push(Column::numbers("lowest", ranges.iter().map(|r| r.0).collect()));
            columns.push(Column::numbers("highest", ranges.iter().map(|r| r.1).collect()));
        }
        if let Some(explainer) = &explainer {
            columns.extend(explainer.columns(&predictor, &args.rows.prepared(batch, predictor.model())?)?);
        }
        Ok(columns)
    })
}

/// The radius in each space that the model has.
fn radii(args: &Args, kind: KindChoice, predictor: &Predictor, rows: Rows<'_>) -> Result<Vec<Column>> {
    let kind = match kind {
        KindChoice::Bound => Kind::Bound,
        KindChoice::Exact => Kind::Exact,
    };
    let mut spaces = vec![("radius", Space::Learned), ("radius_prepared", Space::Prepared)];
    let preparation = &predictor.model().preparation;
    // Of quantiles of ranks there are bounds alone in the input's units.
    let told = kind == Kind::Bound || preparation.is_linear();
    if told && preparation.units().iter().any(Option::is_some) {
        spaces.push(("radius_input", Space::Input));
    }
    let column = |(name, space): (&str, Space)| {
        let certified = predictor.certify(rows, Radius::new(args.norm.norm(), space).kind(kind))?;
        Ok(Column::numbers(name, certified.into_iter().map(|(_, radius)| radius).collect()))
    };
    spaces.into_iter().map(column).collect()
}

/// The nearest row of another class: its class, how far it is, its values and the changes. Cells are missing where there is none.
fn counterfactuals(norm: Norm, predictor: &Predictor, batch: &Table, rows: Rows<'_>) -> Result<Vec<Column>> {
    let found = predictor.counterfactuals(rows, norm, Space::Prepared)?;
    let each = |name: String, value: &dyn Fn(&Counterfactual) -> Option<f64>| {
        Column::numbers(name, found.iter().map(|f| f.as_ref().and_then(value).unwrap_or(f64::NAN)).collect())
    };
    let class = |f: &Option<Counterfactual>| f.as_ref().map_or("", |f| predictor.class(f.other));
    let mut columns = vec![
        Column::texts("counterfactual", found.iter().map(class)),
        each("counterfactual_distance".to_owned(), &|f| Some(f.distance)),
    ];
    let schema = predictor.model().preparation.schema();
    let features = || schema.features.iter().enumerate();
    let numeric = |encoding: &Encoding| matches!(encoding, Encoding::Numeric);
    for (k, feature) in features() {
        if numeric(&feature.encoding) {
            columns.push(each(feature.name.clone(), &|f| f.numbers[k]));
        } else if let Some(at) = batch.position(&feature.name) {
            columns.push(batch.columns[at].clone());
        }
    }
    for (k, feature) in features().filter(|(_, f)| numeric(&f.encoding)) {
        columns.push(each(format!("change:{}", feature.name), &|f| f.changes[k]));
    }
    Ok(columns)
}

/// Refuses what the model's classifier does not have, and gives it the share that was asked for.
fn check(args: &Args, classifier: &mut Classifier) -> Result {
    let no_probabilities =
        "--proba: the model has no probabilities, as no rows could be held out to calibrate them; use --value";
    let Classifier::Extension(extending) = classifier else {
        let smooth = match classifier {
            Classifier::Smooth(smoothing) if args.proba && smoothing.calibration.is_none() => {
                return Err(Failure::Usage(no_probabilities.to_owned()));
            }
            Classifier::Smooth(_) => true,
            _ => false,
        };
        if args.value && !smooth {
            return Err(Failure::Usage(format!(
                "--value: the model predicts by {classifier}, which has no values; fit it with `--classifier extension` or \
                 `--classifier smooth`"
            )));
        }
        if args.alpha.is_some() {
            return Err(Failure::Usage(format!(
                "--alpha: the model predicts by {classifier}, which is no extension; fit it with `--classifier extension`"
            )));
        }
        return Ok(());
    };
    if let Some(alpha) = args.alpha {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Failure::Usage(format!("--alpha: {alpha} is outside 0 to 1")));
        }
        extending.alpha = alpha;
    }
    if args.proba && extending.calibration.is_none() {
        return Err(Failure::Usage(no_probabilities.to_owned()));
    }
    Ok(())
}

fn predictions(predictor: &Predictor, labels: impl IntoIterator<Item = u32>) -> Column {
    Column::texts(PREDICTION, labels.into_iter().map(|label| predictor.class(label)))
}

fn detailed(args: &Args, predictor: &Predictor, rows: &[Prediction]) -> Vec<Column> {
    let numbers =
        |name: String, value: &dyn Fn(&Prediction) -> f64| Column::numbers(name, rows.iter().map(value).collect());
    let mut columns = vec![predictions(predictor, rows.iter().map(|r| r.label))];
    if args.proba {
        let classes = predictor.model().classes.iter().enumerate();
        columns.extend(classes.map(|(c, class)| numbers(format!("proba:{class}"), &|r| r.shares[c])));
    }
    if args.value {
        match &predictor.model().classes[..] {
            // The first class has the negative value.
            [_, _] => columns.push(numbers("value".to_owned(), &|r| r.values[1])),
            classes => {
                columns.extend(
                    classes.iter().enumerate().map(|(c, class)| numbers(format!("value:{class}"), &|r| r.values[c])),
                );
            }
        }
    }
    if args.distance {
        columns.push(numbers("distance".to_owned(), &Prediction::nearest));
    }
    if args.margin {
        columns.push(numbers("margin".to_owned(), &Prediction::margin));
    }
    columns
}
