use super::shared::{BatchArgs, RowArgs};
use crate::failure::Result;
use crate::session::Session;
use lipmetric::classify::Prediction;
use lipmetric::data::Column;
use lipmetric::model::{Certified, Predictor};
use lipmetric_io::model::load_model;

/// The column of predicted classes.
const PREDICTION: &str = "prediction";

/// Predict the class of each row
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
  lipmetric datasets export haberman | lipmetric predict --model h.lip -")]
pub(crate) struct Args {
    #[command(flatten)]
    batches: BatchArgs,
    /// Add a column per class: the share of the neighbours' votes
    #[arg(long, help_heading = "Output")]
    proba: bool,
    /// Add the distance to the nearest training row
    #[arg(long, help_heading = "Output")]
    distance: bool,
    /// Add the margin: how much farther the nearest training row of another class is than that of the predicted class
    #[arg(long, help_heading = "Output")]
    margin: bool,
    /// Add the certified radius: a row that moves by less keeps its predicted class. In the learned metric (radius), and as a
    /// Euclidean distance on the prepared features (radius_prepared)
    #[arg(long, help_heading = "Output")]
    radius: bool,
    #[command(flatten)]
    rows: RowArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let predictor = Predictor::new(load_model(&args.batches.model)?.model)?;
    args.batches.run(&args.rows, predictor.model(), PREDICTION, session, |batch| {
        let rows = args.rows.of(batch);
        if args.radius {
            let certified = predictor.radii(rows)?;
            let told: Vec<&Prediction> = certified.iter().map(|c| &c.prediction).collect();
            let radii = |name: &str, radius: fn(&Certified) -> f64| {
                Column::numbers(name, certified.iter().map(radius).collect())
            };
            let mut columns = detailed(args, &predictor, &told);
            columns.push(radii("radius", |c| c.radius));
            columns.push(radii("radius_prepared", |c| c.radius_prepared));
            Ok(columns)
        } else if args.proba || args.distance || args.margin {
            let told = predictor.explain(rows)?;
            Ok(detailed(args, &predictor, &told.iter().collect::<Vec<_>>()))
        } else {
            Ok(vec![predictions(&predictor, predictor.predict(rows)?)])
        }
    })
}

fn predictions(predictor: &Predictor, labels: impl IntoIterator<Item = u32>) -> Column {
    Column::texts(PREDICTION, labels.into_iter().map(|label| predictor.class(label)))
}

fn detailed(args: &Args, predictor: &Predictor, rows: &[&Prediction]) -> Vec<Column> {
    let numbers = |name: String, value: &dyn Fn(&Prediction) -> f64| {
        Column::numbers(name, rows.iter().map(|row| value(row)).collect())
    };
    let mut columns = vec![predictions(predictor, rows.iter().map(|r| r.label))];
    if args.proba {
        let classes = predictor.model().classes.iter().enumerate();
        columns.extend(classes.map(|(c, class)| numbers(format!("proba:{class}"), &|r| r.shares[c])));
    }
    if args.distance {
        columns.push(numbers("distance".to_owned(), &Prediction::nearest));
    }
    if args.margin {
        columns.push(numbers("margin".to_owned(), &Prediction::margin));
    }
    columns
}
