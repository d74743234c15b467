//! Rows without labels: a distance learned from pairs or comparisons, and whether two rows are similar.

use super::figures::{self, Figures};
use super::fit::{self, describe_outcome};
use super::watched::{self, Watched};
use super::{dry_run, evaluate, predict, prepared};
use crate::failure::{Failure, Result};
use crate::input::remove;
use crate::memory;
use crate::method::Method;
use crate::origin;
use crate::output::{self, Align, TextTable, counted};
use crate::pages;
use crate::resources::Stopwatch;
use crate::session::Session;
use lipmetric::Model;
use lipmetric::classify::{PairScores, ThresholdRule};
use lipmetric::data::{Column, Pair, Quadruplet, Table, Triplet};
use lipmetric::model::{Calibrated, Classifier, Pairing, Recipe, Rows};
use lipmetric::prepare::ColumnRef;
use lipmetric::view::ModelView;
use lipmetric_io::Source;
use lipmetric_io::read::{RowNames, read_asked_pairs, read_comparisons, read_pairs};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known of rows without labels.
#[derive(clap::Args)]
#[command(next_help_heading = "Rows without labels")]
pub(crate) struct ToldArgs {
    /// Learn from pairs: lines of two rows and `1` (similar) or `-1` (dissimilar), such as `4,17,-1`, with a strength as a fourth cell
    /// if it is not 1 (lip-pairs, itml). All columns are features, unless --label names one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["triplets", "quadruplets"])]
    pub(super) pairs: Option<PathBuf>,
    /// Learn from comparisons: lines of four rows `i,j,k,l` for "rows i and j are nearer to each other than rows k and l" (lmml).
    /// All columns are features, unless --label names one
    #[arg(long, value_name = "FILE", conflicts_with = "triplets")]
    pub(super) quadruplets: Option<PathBuf>,
    /// With --triplets: the table has no label, all columns are features
    #[arg(long, requires = "triplets", conflicts_with = "label")]
    no_label: bool,
    /// The column that names the rows in these files; it is no feature [default: rows are named by their numbers, from 1]
    #[arg(long, value_name = "COL")]
    id: Option<String>,
    /// Choose the threshold up to which two rows are similar on these pairs, which the distance is not learned from [default: on the
    /// pairs of --pairs, by 5-fold cross-validation]
    #[arg(long, value_name = "FILE", requires = "pairs")]
    calibrate: Option<PathBuf>,
    /// What the threshold is chosen by: `accuracy`; `f-beta:B`, the F score; `max-tpr:R`, as many similar pairs as possible with at
    /// least the share R of the dissimilar ones told rightly; `max-tnr:R`, the reverse [default: accuracy]
    #[arg(long, value_name = "RULE", value_parser = rule, requires = "pairs")]
    threshold: Option<ThresholdRule>,
}

fn rule(text: &str) -> std::result::Result<ThresholdRule, String> {
    let wrong = || "give accuracy, f-beta:B, max-tpr:R or max-tnr:R, such as max-tnr:0.9".to_owned();
    let (name, number) = text.split_once(':').unwrap_or((text, ""));
    let number = number.parse::<f64>();
    let rule = match (name, number) {
        ("accuracy", Err(_)) => ThresholdRule::Accuracy,
        ("f-beta", Ok(beta)) => ThresholdRule::FBeta(beta),
        ("max-tpr", Ok(rate)) => ThresholdRule::MaxTpr(rate),
        ("max-tnr", Ok(rate)) => ThresholdRule::MaxTnr(rate),
        _ => return Err(wrong()),
    };
    rule.check().map_err(|e| e.to_string())?;
    Ok(rule)
}

impl ToldArgs {
    /// Whether nothing of it is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_none() && self.quadruplets.is_none() && !self.no_label
    }

    /// The column that names the rows.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The files that are read.
    pub(super) fn files(&self) -> [Option<&Path>; 3] {
        [self.pairs.as_deref(), self.quadruplets.as_deref(), self.calibrate.as_deref()]
    }
}

/// What was read of it.
#[derive(Default)]
pub(super) struct Told {
    pub(super) pairs: Option<Vec<Pair>>,
    pub(super) triplets: Option<Vec<Triplet>>,
    pub(super) quadruplets: Option<Vec<Quadruplet>>,
    calibrate: Option<Vec<Pair>>,
}

/// How the rows of a table are named.
fn names(table: &Table, id: Option<&str>) -> Result<RowNames> {
    Ok(match id {
        Some(id) => RowNames::ids(table, &table.columns[ColumnRef::new(id).find(table)?])?,
        None => RowNames::numbers(table),
    })
}

impl Told {
    /// Reads the files that a fit names.
    pub(super) fn read(args: &fit::Args, table: &Table) -> Result<Self> {
        let names = names(table, args.told.id.as_deref())?;
        let source = |path: &PathBuf| Source::new(path);
        let of = |path: &Option<PathBuf>| path.as_ref().map(|p| read_pairs(&source(p), &names)).transpose();
        Ok(Self {
            pairs: of(&args.told.pairs)?,
            triplets: args.triplets.as_ref().map(|p| read_comparisons(&source(p), &names)).transpose()?,
            quadruplets: args.told.quadruplets.as_ref().map(|p| read_comparisons(&source(p), &names)).transpose()?,
            calibrate: of(&args.told.calibrate)?,
        })
    }

    /// A recipe that learns from it.
    pub(super) fn recipe<'a>(&'a self, recipe: Recipe<'a>) -> Recipe<'a> {
        let recipe = recipe.pairing(self.pairs.as_deref()).comparing(self.triplets.as_deref());
        recipe.comparing_pairs(self.quadruplets.as_deref())
    }

    fn describe(&self) -> String {
        if let Some(pairs) = &self.pairs {
            let similar = pairs.iter().filter(|p| p.similar).count();
            return format!("{} pairs: {similar} similar, {} dissimilar", pairs.len(), pairs.len() - similar);
        }
        let count = self.triplets.as_ref().map(Vec::len).or(self.quadruplets.as_ref().map(Vec::len));
        counted(count.unwrap_or(0), "comparison", "comparisons")
    }
}

/// The figures of a fit, as `--json` prints them.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    figures: Figures<'a>,
    learned_from: String,
    threshold: Option<f64>,
    /// Which pairs the threshold was chosen on.
    chosen: Calibrated,
    scores: Option<PairScores>,
}

/// Fits on rows without labels; tells whether that was asked for.
pub(super) fn fit(args: &fit::Args, session: &Session) -> Result<bool> {
    if args.told.is_empty() || args.rows.roles.label.is_some() {
        return Ok(false);
    }
    let watch = Stopwatch::start();
    if let Some(option) = args.labelled_only() {
        return Err(Failure::Usage(format!("{option}: it goes with labels; name their column with --label")));
    }
    let usual = if args.told.pairs.is_some() { Method::LipPairs } else { Method::Lmml };
    let spec = args.method.spec_or(usual)?;
    let start = args.method.start()?;
    let table = args.rows.table(session)?;
    let told = Told::read(args, &table)?;
    let data = args.rows.roles.read_unlabelled(&table, args.told.id.as_deref(), session)?;
    let rule = args.told.threshold.unwrap_or_default();
    let recipe = told.recipe(Recipe::new(&spec).prepared(args.rows.prepare.fill, args.rows.prepare.scale.0));
    let recipe = recipe.starting_from(start.as_ref()).reduced_to(args.method.prediction.dims());
    let recipe = recipe.thresholding(told.calibrate.is_none().then_some(rule)).keeping_certificate(args.certificate);
    if args.dry_run {
        return dry_run::tell(&recipe, &data, &table.origin, args.rows.data.max_memory()).map(|()| true);
    }
    memory::check(&recipe.foresee(&data), args.rows.data.max_memory(), &table.origin)?;
    let limit = session.limit(args.time_limit)?;
    let origin = origin::of(&data);
    watched::fit(&recipe, &data, (limit, args.checkpoint()?), session, |Watched { model, history, .. }| {
        let mut model = Arc::unwrap_or_clone(model);
        if let Some(pairs) = &told.calibrate {
            let rows = model.training_rows()?.x.clone();
            model.calibrate(Rows::Prepared(&rows), pairs, rule)?;
        }
        model.origin = Some(origin.clone());
        if args.pages.wanted() {
            let view = ModelView::of(&model, &table.origin, history)?;
            let view = view.with_pairs(&model, told.pairs.as_deref().unwrap_or_default())?;
            args.pages.write(&lipmetric_report::model_page(&view, &pages::about(next(args))), session)?;
        }
        if args.without_rows {
            model.training = None;
        }
        args.keep(&model, session)?;
        show(args, session, &told, &model, (&table.origin, &watch))?;
        fit::ended(model.outcome.status, args.model.is_some())
    })?;
    Ok(true)
}

/// What can be done after a fit.
fn next(args: &fit::Args) -> Vec<(String, Option<String>)> {
    let rows = args.rows.data.path().map_or_else(|| "rows.csv".to_owned(), |path| path.display().to_string());
    let id = args.told.id().map_or_else(String::new, |id| format!(" --id {id}"));
    let Some(model) = &args.model else {
        return vec![("Keep the model, to ask it about new pairs: `--model FILE`.".to_owned(), None)];
    };
    let model = model.display();
    let judge = format!("lipmetric evaluate {rows}{id} --model {model} --pairs held-out.csv");
    let ask = format!("lipmetric predict --model {model} {rows}{id} --pairs asked.csv");
    vec![
        ("Judge it on pairs that it has not seen:".to_owned(), Some(judge)),
        ("Ask about other pairs:".to_owned(), Some(ask)),
    ]
}

fn show(args: &fit::Args, session: &Session, told: &Told, model: &Model, of: (&str, &Stopwatch)) -> Result {
    let (origin, watch) = of;
    let without = Pairing::without();
    let pairing = if let Classifier::Pairs(pairing) = &model.classifier { pairing } else { &without };
    let figures = Figures::of(model, (watch.seconds(), watch.cpu_seconds()), args.model.as_deref());
    if args.json {
        let (threshold, chosen, scores) = (pairing.threshold, pairing.chosen, pairing.scores);
        return output::print_json(&Report { figures, learned_from: told.describe(), threshold, chosen, scores });
    }
    let (n, features) = (figures.n, counted(figures.p, "feature", "features"));
    let mut text = format!("{origin}: {n} rows without labels, {features}\nlearned from {}\n\n", told.describe());
    text += &prepared::describe(&model.preparation);
    text += &format!("\n{}", describe_outcome(model));
    if let Some(scores) = &pairing.scores {
        text += &format!("\nthreshold {}\n{}", pairing.chosen, describe_scores(scores));
    }
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    facts.row(["seconds", &format!("{:.3}", figures.seconds)]);
    facts.row(["model", figures.model.as_deref().unwrap_or("not kept; --model FILE keeps it")]);
    figures::print(&format!("{text}\n{}", facts.render()), args.model.as_deref(), session)
}

fn describe_scores(scores: &PairScores) -> String {
    let percent = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{:.2} %", 100.0 * v));
    let mut facts = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    let of = format!("of {} pairs, {} of them similar", scores.pairs, scores.similar);
    if let Some(threshold) = scores.threshold {
        facts.row(["threshold", &format!("{threshold:.4}"), "two rows up to this distance are similar"]);
        facts.row(["accuracy", &percent(scores.accuracy), &of]);
        facts.row(["precision", &percent(scores.precision), "of those told similar, the share that is"]);
        facts.row(["recall", &percent(scores.recall), "of the similar ones, the share told so"]);
        facts.row(["F1", &percent(scores.f1), ""]);
    }
    facts.row(["AUC", &percent(scores.auc), "how often a similar pair is nearer than a dissimilar one"]);
    facts.render()
}

/// Pairs to ask a model about.
#[derive(clap::Args)]
pub(crate) struct AskedArgs {
    /// Instead of rows, pairs of them: lines of two rows of FILE, such as `4,17`; with --model of `evaluate` also whether they are
    /// similar (`1` or `-1`)
    #[arg(long, value_name = "FILE", group = "tuples", help_heading = "Pairs")]
    pub(super) pairs: Option<PathBuf>,
    /// The column of FILE that names the rows [default: rows are named by their numbers, from 1]
    #[arg(long, value_name = "COL", requires = "tuples", help_heading = "Pairs")]
    id: Option<String>,
}

/// Comparisons to judge a model by.
#[derive(clap::Args)]
#[command(next_help_heading = "Pairs")]
pub(crate) struct ComparedArgs {
    /// Instead of rows, comparisons of them: lines of three rows `i,j,l` of FILE for "row i is nearer to row j than to row l", of which
    /// the share that holds is told (with --model)
    #[arg(long, value_name = "FILE", group = "tuples")]
    triplets: Option<PathBuf>,
    /// The same of lines of four rows `i,j,k,l` for "rows i and j are nearer to each other than rows k and l" (with --model)
    #[arg(long, value_name = "FILE", group = "tuples")]
    quadruplets: Option<PathBuf>,
}

impl ComparedArgs {
    /// The file of comparisons, if any.
    pub(super) fn file(&self) -> Option<&Path> {
        self.triplets.as_deref().or(self.quadruplets.as_deref())
    }

    /// Reads it: the pair that should be nearer and the one that should be farther apart, of each comparison.
    fn read(&self, names: &RowNames) -> Result<Vec<[[usize; 2]; 2]>> {
        if let Some(path) = &self.triplets {
            let all: Vec<Triplet> = read_comparisons(&Source::new(path), names)?;
            return Ok(all.into_iter().map(|[i, j, l]| [[i, j], [i, l]]).collect());
        }
        let Some(path) = &self.quadruplets else { return Ok(Vec::new()) };
        let all: Vec<Quadruplet> = read_comparisons(&Source::new(path), names)?;
        Ok(all.into_iter().map(|[i, j, k, l]| [[i, j], [k, l]]).collect())
    }
}

impl AskedArgs {
    /// How rows are named; the column with their names is taken out unless the model knows it.
    fn names(&self, table: &mut Table, model: &Model) -> Result<RowNames> {
        let names = names(table, self.id.as_deref())?;
        if let Some(id) = &self.id {
            let at = ColumnRef::new(id).find(table)?;
            let schema = model.preparation.schema();
            let known = schema.features.iter().any(|f| f.name == table.columns[at].name);
            if !known && (table.columns.len() > schema.width || !schema.ignored.contains(&table.columns[at].name)) {
                remove(table, &[at]);
            }
        }
        Ok(names)
    }
}

/// Tells the distance of each pair, and whether it is similar where the model has a threshold.
pub(super) fn predict(args: &predict::Args, model: &Model, session: &Session) -> Result {
    let Some(path) = &args.asked.pairs else {
        return Err(Failure::Usage(
            "the model was learned from rows without labels: it tells whether two rows are similar; name the pairs with --pairs FILE"
                .to_owned(),
        ));
    };
    if let Some(option) = args.of_rows_only() {
        return Err(Failure::Usage(format!("{option}: it is told of rows, not of pairs; leave it or --pairs out")));
    }
    args.batches.check_output()?;
    let mut table = args.rows.whole(&args.batches.source()?.1, model, session)?;
    let names = args.asked.names(&mut table, model)?;
    let asked = read_asked_pairs(&Source::new(path), &names)?;
    let distances = model.pair_distances(args.rows.of(&table), &asked)?;
    let name = |row: usize| names.name(row);
    let mut columns = vec![
        Column::texts("first", asked.iter().map(|p| name(p[0]))),
        Column::texts("second", asked.iter().map(|p| name(p[1]))),
        Column::numbers("distance", distances.clone()),
    ];
    if let Ok(threshold) = model.threshold() {
        let told = |d: &f64| if *d <= threshold { "similar" } else { "dissimilar" };
        columns.push(Column::texts(predict::PREDICTION, distances.iter().map(told)));
    }
    args.batches.write(&Table::new(path.display().to_string(), columns), predict::PREDICTION)
}

/// What a model is worth on pairs.
#[derive(Serialize)]
struct Judged {
    judged: String,
    #[serde(flatten)]
    scores: PairScores,
}

/// How many comparisons hold under a model's distance.
#[derive(Serialize)]
struct Held {
    judged: String,
    comparisons: usize,
    /// The share that holds.
    holds: f64,
}

/// The model that is judged by a file of pairs or comparisons, the rows that these name, and how.
fn judged_by(file: &Path, args: &evaluate::Args, session: &Session) -> Result<(Model, Table, RowNames, String)> {
    let Some(path) = &args.model else {
        let option = if args.asked.pairs.is_some() { "--pairs" } else { "--triplets, --quadruplets" };
        return Err(Failure::Usage(format!("{option}: name the model that shall be judged with --model")));
    };
    let model = crate::input::load_model(path)?.model;
    let mut table = args.data.table(&args.roles.ignore, session)?;
    args.roles.ignore.drop_from(&mut table)?;
    let names = args.asked.names(&mut table, &model)?;
    let judged = format!("{} on {} of {}", path.display(), file.display(), table.origin);
    Ok((model, table, names, judged))
}

/// Judges a model by pairs or comparisons; tells whether that was asked for.
pub(super) fn evaluate(args: &evaluate::Args, session: &Session) -> Result<bool> {
    if let Some(pairs) = &args.asked.pairs {
        let (model, table, names, judged) = judged_by(pairs, args, session)?;
        let scores = model.judge_pairs(&table, &read_pairs(&Source::new(pairs), &names)?)?;
        if args.json {
            output::print_json(&Judged { judged, scores })?;
        } else {
            output::print(&format!("{judged}\n\n{}", describe_scores(&scores)))?;
        }
        return Ok(true);
    }
    let Some(file) = args.compared.file() else { return Ok(false) };
    let (model, table, names, judged) = judged_by(file, args, session)?;
    let all = args.compared.read(&names)?;
    if all.is_empty() {
        return Err(Failure::Data(format!("{}: there are no comparisons to judge the model by", file.display())));
    }
    let distances = model.pair_distances(&table, &all.concat())?;
    let holding = distances.chunks_exact(2).filter(|d| d[0] < d[1]).count();
    let held = Held { judged, comparisons: all.len(), holds: holding as f64 / all.len() as f64 };
    if args.json {
        output::print_json(&held)?;
    } else {
        let share = format!("{:.2} %", 100.0 * held.holds);
        let of =
            format!("of {} hold under the learned distance", counted(held.comparisons, "comparison", "comparisons"));
        output::print(&format!("{}\n\n{share} {of}\n", held.judged))?;
    }
    Ok(true)
}
