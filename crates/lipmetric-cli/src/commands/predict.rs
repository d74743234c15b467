use super::transform::{BATCH, OutputArgs, RowArgs, beside};
use crate::failure::Result;
use crate::input::DataArgs;
use crate::session::Session;
use lipmetric::classify::Prediction;
use lipmetric::table::{Column, Values};
use lipmetric_io::model::load_model;
use std::path::PathBuf;

/// The column of predicted classes.
const PREDICTION: &str = "prediction";

/// Predict the class of each row
///
/// Rows stream through in constant memory; one row out for each row in, in the same order. The input needs the columns
/// that the model was fitted on, by name, or by position where one of the two has no names; the label's column may be
/// there or not. Distances and margins are in the learned metric (its square root, which obeys the triangle inequality).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model h.lip
  lipmetric predict --model h.lip --data haberman
  lipmetric predict --model h.lip --data haberman --proba --margin -o out.csv
  lipmetric datasets export haberman | lipmetric predict --model h.lip -")]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataArgs,
    /// The model to predict by
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    /// Add a column per class: the share of the neighbours' votes
    #[arg(long)]
    proba: bool,
    /// Add the distance to the nearest training row
    #[arg(long)]
    distance: bool,
    /// Add how much farther the nearest training row of any other class is than the nearest of the predicted one
    #[arg(long)]
    margin: bool,
    #[command(flatten)]
    rows: RowArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let model = load_model(&args.model)?.model;
    let classifier = model.classifier()?;
    let mut stream = args.data.stream(&args.rows.ignore, &model)?;
    let mut writer = args.output.writer(PREDICTION)?;
    while let Some(mut batch) = stream.next_batch(BATCH)? {
        session.go_on()?;
        args.rows.ignore.drop_from(&mut batch)?;
        let x = model.metric.transform(&model.preparation.read(&batch, args.rows.unseen())?)?;
        let columns = if args.proba || args.distance || args.margin {
            detailed(args, &model.classes, &classifier.predict_detailed(&x)?)
        } else {
            vec![predictions(&model.classes, classifier.predict(&x)?)]
        };
        writer.write_batch(&beside(&batch, columns))?;
    }
    writer.finish()?;
    Ok(())
}

fn predictions(classes: &[String], labels: impl IntoIterator<Item = u32>) -> Column {
    let names = labels.into_iter().map(|c| classes[c as usize].as_str());
    Column { name: PREDICTION.to_owned(), values: Values::Text(names.collect()) }
}

fn detailed(args: &Args, classes: &[String], rows: &[Prediction]) -> Vec<Column> {
    let numbers = |name: String, value: &dyn Fn(&Prediction) -> f64| Column {
        name,
        values: Values::Number(rows.iter().map(value).collect()),
    };
    let mut columns = vec![predictions(classes, rows.iter().map(|r| r.label))];
    if args.proba {
        columns
            .extend(classes.iter().enumerate().map(|(c, class)| numbers(format!("proba:{class}"), &|r| r.shares[c])));
    }
    if args.distance {
        columns.push(numbers("distance".to_owned(), &|r| r.nearest));
    }
    if args.margin {
        columns.push(numbers("margin".to_owned(), &|r| r.margin));
    }
    columns
}
