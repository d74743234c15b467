use super::seen::Seen;
use super::shared::{line_up, needs_classes};
use crate::failure::{Failure, Result};
use crate::input::{DataArgs, RoleArgs};
use crate::memory;
use crate::output::short;
use crate::outputs;
use crate::pages;
use crate::session::Session;
use lipmetric::data::Table;
use lipmetric::method::Method;
use lipmetric::model::TrainingRows;
use lipmetric::prepare::Unseen;
use lipmetric::view::{ClassView, MapWorth, ModelView, RowsView};
use lipmetric::{Labels, Model, Task};
use lipmetric_io::{Target, atomic_write};
use lipmetric_report::Picture;
use std::path::PathBuf;

/// Draw rows as a model's distance sees them: a map, as SVG or PNG
///
/// Rows are drawn in the two directions in which the training rows spread most under the learned distance, so that a row has the same
/// place whatever else is drawn; classes by colour and shape, numbers as four ranges of them. Rows without a label column are drawn by
/// what is predicted. Of new rows with labels of classes it is told how many of them the nearest training rows predict rightly in these two directions, by the whole distance,
/// and in two principal components.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --method lip-i --model h.lip
  lipmetric plot h.lip --data haberman -o map.svg")]
pub(crate) struct Args {
    /// The model, as `lipmetric fit --model` wrote it
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    roles: RoleArgs,
    /// The picture to write: SVG, or PNG where the name ends in .png and the program was built with it; `-` is standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: PathBuf,
}

/// Ranges that numbers are drawn as, each with as many training rows.
const RANGES: usize = 4;
/// Directions that are drawn.
const DRAWN: usize = 2;

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    outputs::check("--output", &args.output, &[args.data.path(), Some(&args.model)])?;
    pages::ending("--output", &args.output, &["svg", "png"])?;
    let kind = match args.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        true => Picture::Png,
        false => Picture::Svg,
    };
    pages::drawable("--output", kind)?;
    let model = crate::input::load_model(&args.model)?.model;
    let numbers = model.task == Task::Regression;
    if !numbers {
        needs_classes(&model, "plot")?;
    }
    let mut table = args.data.table(&args.roles.ignore, session)?;
    line_up(&mut table, model.preparation.schema(), &args.roles)?;
    let (labels, known) =
        if numbers { (ranges(&model, &table, session)?, false) } else { classes(&model, &table, session)? };
    let mut rows = TrainingRows::new(model.preparation.read(&table, Unseen::Error)?, labels);
    rows.lines.clone_from(&table.lines);
    let from = model.training.as_ref().map_or(&rows.x, |training| &training.x);
    memory::check_page(rows.x.cols(), args.data.max_memory())?;
    let mut view = ModelView::default();
    (view.source, view.method) = (table.origin.clone(), model.spec.name().to_owned());
    view.classes = ClassView::of(&rows.y);
    view.rows = Some(RowsView::along(&rows, &model.metric, &model.preparation.feature_names(), from)?);
    let svg = lipmetric_report::map_figure(&view)
        .ok_or_else(|| Failure::Data(format!("{}: there are no rows to draw", table.origin)))?;
    if Target::new(&args.output) == Target::Stdout {
        return crate::output::write(&svg);
    }
    let bytes = kind.bytes(&svg).map_err(|e| Failure::Failed(format!("--output: {e}")))?;
    atomic_write(&args.output, |w| w.write_all(&bytes))?;
    if known { judge(&model, &rows, session) } else { Ok(()) }
}

/// Says what the map is worth on rows that the model has not seen.
fn judge(model: &Model, rows: &TrainingRows, session: &Session) -> Result {
    let Some(training) = &model.training else { return Ok(()) };
    if rows.x.rows() == 0 || Seen::of(training).count(&rows.x) > 0 {
        return Ok(());
    }
    let worth = MapWorth::of(model, (&rows.x, &rows.y), DRAWN)?;
    let [drawn, whole, plain] = [worth.drawn, worth.whole, worth.plain].map(|v| format!("{:.1} %", 100.0 * v));
    session.note(format!(
        "of {} new rows the nearest training rows predict {drawn} rightly in the two directions drawn, {whole} by the whole distance, \
         {plain} in two principal components",
        worth.rows
    ));
    Ok(())
}

/// The range of each row's number or, where it has none, of the predicted number.
fn ranges(model: &Model, table: &Table, session: &Session) -> Result<Labels> {
    let schema = model.preparation.schema();
    let name = schema.label.as_ref().map(|l| l.name.as_str()).unwrap_or_default();
    let numbers = if table.named && table.position(name).is_none() {
        session.note(format!("{}: no column `{name}`; rows are drawn by their predicted number", table.origin));
        model.estimate(table)?
    } else {
        schema.targets(table)?.numbers().unwrap_or_default().to_vec()
    };
    let mut known = model.training_rows()?.y.numbers().unwrap_or_default().to_vec();
    known.sort_by(f64::total_cmp);
    let mut ends: Vec<f64> = (1..RANGES).filter_map(|k| known.get(k * known.len() / RANGES).copied()).collect();
    ends.dedup();
    let names = (0..=ends.len()).map(|k| match (k.checked_sub(1).map(|k| short(ends[k])), ends.get(k)) {
        (None, Some(end)) => format!("below {}", short(*end)),
        (Some(begin), Some(end)) => format!("{begin} to {}", short(*end)),
        (Some(begin), None) => format!("from {begin}"),
        (None, None) => "all".to_owned(),
    });
    let codes = numbers.iter().map(|v| ends.partition_point(|end| end <= v) as u32).collect();
    Ok(Labels::from_codes(names.collect(), codes)?)
}

/// The labels of the rows or, where they have none, their predicted classes; and whether they are labels.
fn classes(model: &Model, table: &Table, session: &Session) -> Result<(Labels, bool)> {
    let schema = model.preparation.schema();
    let name = schema.label.as_ref().map(|l| l.name.as_str()).unwrap_or_default();
    if table.named && table.position(name).is_none() {
        session.note(format!("{}: no column `{name}`; rows are drawn by their predicted class", table.origin));
        return Ok((Labels::from_codes(model.classes.clone(), model.predict(table)?)?, false));
    }
    Ok((schema.labels_as(table, &model.classes)?, true))
}
