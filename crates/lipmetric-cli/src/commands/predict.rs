use super::transform::{BATCH, OutputArgs, RowArgs, beside};
use crate::certify::Certifier;
use crate::failure::Result;
use crate::input::DataArgs;
use crate::session::Session;
use lipmetric::classify::Prediction;
use lipmetric::data::{Column, Values};
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
  lipmetric fit --data haberman --k 1 --model h.lip
  lipmetric predict --model h.lip --data haberman
  lipmetric predict --model h.lip --data haberman --proba --radius -o out.csv
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
    /// Add the certified radius: moved by less, the row keeps its class. In the learned metric (radius), and as a
    /// Euclidean distance on the prepared features (radius_prepared)
    #[arg(long)]
    radius: bool,
    #[command(flatten)]
    rows: RowArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let model = load_model(&args.model)?.model;
    let classifier = model.classifier()?;
    let certifier = if args.radius { Some(Certifier::new(&model)?) } else { None };
    let mut stream = args.data.stream(&args.rows.ignore, &model)?;
    let mut writer = args.output.writer(PREDICTION)?;
    while let Some(mut batch) = stream.next_batch(BATCH)? {
        session.go_on()?;
        args.rows.ignore.drop_from(&mut batch)?;
        let prepared = model.preparation.read(&batch, args.rows.unseen())?;
        let x = model.metric.transform(&prepared)?;
        let mut columns = if args.proba || args.distance || args.margin {
            detailed(args, &model.classes, &classifier.predict_detailed(&x)?)
        } else {
            vec![predictions(&model.classes, classifier.predict(&x)?)]
        };
        if let Some(certifier) = &certifier {
            let radii = certifier.radii(&prepared)?;
            let learned = radii.iter().map(|r| r.radius).collect();
            let prepared = radii.iter().map(|r| r.in_input_units(certifier.factor)).collect();
            columns.push(Column { name: "radius".to_owned(), values: Values::Number(learned) });
            columns.push(Column { name: "radius_prepared".to_owned(), values: Values::Number(prepared) });
        }
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
