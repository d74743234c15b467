//! LIBSVM rows that stay sparse: the vote of the nearest rows under the Euclidean distance, for tables that would be large with their
//! zeros. Everything else needs dense rows.

use super::figures;
use super::fit;
use super::predict;
use crate::failure::{Failure, Result};
use crate::memory;
use crate::output::{Align, TextTable, counted};
use crate::resources::Stopwatch;
use crate::session::Session;
use lipmetric::Labels;
use lipmetric::data::{Column, Table};
use lipmetric::method::{Method, Spec};
use lipmetric::model::{ClassifierSpec, Foreseen, Origin, SparseModel};
use lipmetric_io::model::{load_sparse_model, save_sparse_model};
use lipmetric_io::{Source, SparseTable, Target, fingerprint_of_text};
use std::path::Path;

/// Rows that take less than this with their zeros are stored with them: then every command takes the model.
const DENSE: u64 = 64 << 20;

/// Fits on sparse rows, if that is what is asked for; else nothing is done.
pub(super) fn fit(args: &fit::Args, spec: &Spec, classifier: ClassifierSpec, session: &Session) -> Result<bool> {
    let watch = Stopwatch::start();
    let rows = &args.rows;
    let Some(table) = rows.data.sparse(None, session)? else { return Ok(false) };
    if table.rows.dense_bytes() <= DENSE {
        return Ok(false);
    }
    let (k, weights) = match (spec, classifier) {
        (Spec::Euclidean(_), ClassifierSpec::Vote { k, weights }) if args.stays_sparse() => (k, weights),
        _ => return refuse_dense(&table, spec, rows.data.max_memory()).map(|()| false),
    };
    let labels = Labels::from_names(table.labels.iter());
    labels.check_two_classes().map_err(|e| Failure::Data(format!("{}: {e}", table.origin)))?;
    let mut model = SparseModel::fit(&table.rows, &labels, rows.prepare.scale.usual(), (k, weights))?;
    model.lines.clone_from(&table.lines);
    model.origin = Some(origin(&table));
    if let Some(path) = &args.model {
        save_sparse_model(&model, &Target::new(path))?;
        session.detail(format!("wrote {}", path.display()));
    }
    let mut text = format!("{}: {}\n\n", table.origin, size(&model));
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    facts.row(["seconds", &format!("{:.3}", watch.seconds())]);
    let kept = args.model.as_deref().map(figures::named);
    facts.row(["model", kept.as_deref().unwrap_or("not kept; --model FILE keeps it")]);
    text += &describe(&model);
    text += &facts.render();
    figures::print(&text, args.model.as_deref(), session)?;
    Ok(true)
}

/// Refuses what would not fit into memory with its zeros, before it is read so.
fn refuse_dense(table: &SparseTable, spec: &Spec, limit: Option<u64>) -> Result {
    // As columns of a table, and what the method makes of them.
    let foreseen = Foreseen::of(spec, table.rows.len(), table.rows.width());
    let needed = table.rows.dense_bytes().saturating_add(foreseen.bytes);
    match limit.or_else(memory::available) {
        Some(limit) if needed > limit => Err(Failure::Data(format!(
            "{}: {} need dense rows here, and {} rows x {} columns take {} with their zeros (there are {}); only `--method euclidean` \
             with `--classifier nearest` keeps LIBSVM rows sparse, without --certificate, --json, --report, --plots, --checkpoint, \
             --without-rows, --dims, --ignore, --kind and --triplets",
            table.origin,
            match spec.name() {
                "euclidean" => "these options".to_owned(),
                name => format!("the method {name} and its options"),
            },
            table.rows.len(),
            table.rows.width(),
            memory::shown(needed),
            memory::shown(limit)
        ))),
        _ => Ok(()),
    }
}

fn origin(table: &SparseTable) -> Origin {
    let rows = &table.rows;
    let bits: Vec<u64> = rows.values().iter().map(|v| v.to_bits()).collect();
    let labels: Vec<&str> = table.labels.iter().collect();
    let told = format!("{:?} {:?} {:?} {:?}", rows.ends(), rows.columns(), bits, labels);
    Origin::new(table.origin.as_str(), fingerprint_of_text(&told)).made_by(crate::origin::typed())
}

fn size(model: &SparseModel) -> String {
    let rows = &model.rows;
    format!(
        "{}, {}, {} classes; {} values are not zero",
        counted(rows.len(), "row", "rows"),
        counted(rows.width(), "feature", "features"),
        model.labels.classes().len(),
        rows.values().len()
    )
}

fn describe(model: &SparseModel) -> String {
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    let total = model.labels.len().max(1);
    let counts = model.labels.counts();
    let shares = model.labels.classes().iter().zip(counts);
    let shown = shares.map(|(class, count)| format!("{class}: {count} ({:.1} %)", 100.0 * count as f64 / total as f64));
    facts.row(["method", "euclidean"]);
    facts.row(["scaling", &format!("{}, without subtracting anything", model.scaling)]);
    facts.row(["prediction", &model.voting.to_string()]);
    facts.row(["classes", &shown.collect::<Vec<_>>().join(", ")]);
    if let Some(origin) = &model.origin {
        facts.row(["data", &origin.data]);
        facts.row(["fingerprint", &origin.fingerprint]);
        facts.row(["command", origin.command.as_deref().unwrap_or("")]);
    }
    facts.render() + "note: the rows stay sparse; the model predicts, and nothing else takes it\n"
}

/// Shows a model of sparse rows, if it is one.
pub(super) fn inspect(path: &Path) -> Result<Option<String>> {
    let Some(model) = load(path)? else { return Ok(None) };
    Ok(Some(format!("{}: {}\n\n{}", path.display(), size(&model), describe(&model))))
}

/// What can be read only once, such as standard input, is for other models.
fn load(path: &Path) -> Result<Option<SparseModel>> {
    if !path.is_file() {
        return Ok(None);
    }
    Ok(load_sparse_model(&Source::new(path))?)
}

/// Predicts by a model of sparse rows, if it is one; else nothing is done.
pub(super) fn predict(args: &predict::Args, session: &Session) -> Result<bool> {
    let (path, data) = args.batches.source()?;
    let Some(model) = load(&path)? else { return Ok(false) };
    if let Some(other) = args.dense_only() {
        return Err(Failure::Usage(format!("{other}: the model holds sparse rows, which do without it; leave it out")));
    }
    args.batches.check_output()?;
    let Some(table) = data.sparse(Some(model.rows.width()), session)? else {
        return Err(Failure::Data(
            "the model holds sparse rows; give it rows in the LIBSVM format, without missing values".to_owned(),
        ));
    };
    let columns = columns(args, &model, &table)?;
    args.batches.write(&Table::new(table.origin, columns), predict::PREDICTION)?;
    Ok(true)
}

fn columns(args: &predict::Args, model: &SparseModel, table: &SparseTable) -> Result<Vec<Column>> {
    let (labels, shares) = model.votes(&table.rows)?;
    let classes = model.labels.classes();
    let mut out = vec![Column::texts(predict::PREDICTION, labels.iter().map(|&label| &classes[label as usize]))];
    if args.proba {
        for (c, class) in classes.iter().enumerate() {
            let column = (0..shares.rows()).map(|i| shares[(i, c)]).collect();
            out.push(Column::numbers(format!("proba:{class}"), column));
        }
    }
    let asked = args.neighbours.unwrap_or(usize::from(args.distance));
    if asked == 0 {
        return Ok(out);
    }
    let found = model.neighbours(&table.rows, asked)?;
    let each = |k: usize| (0..labels.len()).map(move |i| (i, k));
    if args.distance {
        out.push(Column::numbers("distance", each(0).map(|(i, k)| found.squared_distances(i)[k].sqrt()).collect()));
    }
    for k in 0..args.neighbours.unwrap_or(0) {
        let row = |(i, k): (usize, usize)| found.indices(i)[k];
        let place =
            |at| model.lines.get(row(at)).map_or_else(|| format!("row {}", row(at) + 1), |l| format!("line {l}"));
        let name = |what: &str| format!("neighbour{}_{what}", k + 1);
        out.push(Column::texts(name("row"), each(k).map(place)));
        out.push(Column::texts(name("label"), each(k).map(|at| model.labels.name(row(at)).to_owned())));
        let distance = |(i, k): (usize, usize)| found.squared_distances(i)[k].sqrt();
        out.push(Column::numbers(name("distance"), each(k).map(distance).collect()));
    }
    Ok(out)
}
