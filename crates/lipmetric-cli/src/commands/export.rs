use super::shared::{NamedArgs, RowArgs};
use crate::failure::{Failure, Result};
use crate::input::KeepArgs;
use crate::memory;
use crate::outputs;
use crate::session::Session;
use clap::ValueEnum;
use lipmetric::Model;
use lipmetric::data::{Column, Table};
use lipmetric::prepare::ColumnRef;
use lipmetric_io::Target;
use lipmetric_io::map::save_map;
use lipmetric_io::write::{VectorFormat, VectorOptions, VectorWriter, companion};
use std::path::{Path, PathBuf};

/// Write mapped rows for a vector index
///
/// Rows are mapped to vectors of single precision, so that plain Euclidean search in the index is search by the learned
/// distance. Beside OUT stands the map itself: OUT with the ending .map.json (how each column becomes numbers, and the matrix) and
/// .map.npy (the matrix), by which any service maps new rows without this program. docs/export.md describes them, with readers in
/// Python and SQL.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model h.lip
  lipmetric export h.lip --data haberman --to npy -o h.npy
  lipmetric export h.lip --data haberman --to faiss -o h.faiss
  lipmetric export h.lip --data haberman --to hnswlib -o h.hnsw
  lipmetric export h.lip --data haberman --to parquet --keep age -o h.parquet
  lipmetric export h.lip --data haberman --to pgvector --table h -o h.sql")]
pub(crate) struct Args {
    #[command(flatten)]
    named: NamedArgs,
    /// What the vectors are for
    #[arg(long, value_enum, value_name = "INDEX", help_heading = "Output")]
    to: To,
    /// Write to this file; `-` is standard output, without the map
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: PathBuf,
    /// The column that holds the ids, by name or number (default: rows are numbered from 0). It need not be one that the model
    /// knows. npy and fvecs have the ids in a file of their own, OUT with the ending .ids.npy
    #[arg(long, value_name = "COL", allow_hyphen_values = true, help_heading = "Output")]
    id: Option<String>,
    #[command(flatten)]
    keep: KeepArgs,
    /// The name of the table, for pgvector; `schema.name` names a schema as well [default: items]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    table: Option<String>,
    #[command(flatten)]
    rows: RowArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum To {
    /// One NumPy array
    Npy,
    /// Length and elements of each vector, as benchmarks of approximate search have them
    Fvecs,
    /// Parquet: id, columns to keep, and a list of floats
    Parquet,
    /// A script for psql: a table of PostgreSQL with pgvector
    Pgvector,
    /// The file of a faiss.IndexFlatL2 (with --id: of whole numbers, in an IndexIDMap)
    Faiss,
    /// The file of a usearch Index (--id: whole numbers from 0 on)
    Usearch,
    /// The file of an hnswlib Index (--id: whole numbers from 0 on)
    Hnswlib,
}

impl To {
    fn format(self) -> VectorFormat {
        match self {
            Self::Npy => VectorFormat::Npy,
            Self::Fvecs => VectorFormat::Fvecs,
            Self::Parquet => VectorFormat::Parquet,
            Self::Pgvector => VectorFormat::Pgvector,
            Self::Faiss => VectorFormat::Faiss,
            Self::Usearch => VectorFormat::Usearch,
            Self::Hnswlib => VectorFormat::Hnswlib,
        }
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let format = args.to.format();
    let (path, data) = args.named.both()?;
    if !args.keep.is_empty() && !format.has_columns() {
        return Err(Failure::Usage(format!(
            "--keep: {format} has no place for other columns; write parquet or pgvector, or keep an id with --id"
        )));
    }
    if args.table.is_some() && format != VectorFormat::Pgvector {
        return Err(Failure::Usage(format!("--table: {format} has no tables; it is for --to pgvector")));
    }
    let model = crate::input::load_model(&path)?.model;
    let target = Target::new(&args.output);
    let maps = match &target {
        Target::Path(out) => Some((companion(out, "map.json"), companion(out, "map.npy"))),
        _ => None,
    };
    for file in maps.iter().flat_map(|(json, npy)| [json, npy]).chain([&args.output]) {
        outputs::check("--output", file, &[data.path(), Some(&path)])?;
    }
    if maps.is_some() {
        let remedy = "write the vectors to standard output, `-o -`, where no map stands beside them";
        memory::check_model(&model, data.max_memory(), ("--output", remedy))?;
    }
    let mut options = VectorOptions::new(model.metric.rank());
    options.ids = args.id.is_some();
    options.table.clone_from(args.table.as_ref().unwrap_or(&options.table.clone()));
    let mut writer = VectorWriter::create(&target, format, options)?;
    let keep = args.keep.with(args.id.as_deref());
    let mut stream = args.rows.stream(&data, &model, &keep, session)?;
    let (mut rows, make) = (0, |whole: &Table, batch: &Table| args.mapped(&model, whole, batch));
    args.rows.through(&mut stream, &model, false, session, make, |out| {
        rows += out.rows();
        Ok(writer.write_batch(out)?)
    })?;
    if let Some((json, npy)) = &maps {
        save_map(&model, json, npy)?;
    }
    let finished = writer.finish_while(&mut |_| session.go_on().is_ok());
    session.go_on()?;
    let ids = finished?;
    let beside: Vec<&Path> =
        maps.iter().flat_map(|(json, npy)| [json, npy]).chain(&ids).map(PathBuf::as_path).collect();
    tell(session, rows, &model, &target, &beside);
    Ok(())
}

fn tell(session: &Session, rows: usize, model: &Model, target: &Target, beside: &[&Path]) {
    let files: Vec<String> = beside.iter().map(|path| path.display().to_string()).collect();
    let and = if files.is_empty() { String::new() } else { format!("; beside it {}", files.join(", ")) };
    let (rank, name) = (model.metric.rank(), target.name());
    session.note(format!("{name}: {rows} vectors of {rank} elements in single precision{and}"));
}

impl Args {
    /// The id, the columns to keep, and the elements of the vectors.
    fn mapped(&self, model: &Model, whole: &Table, batch: &Table) -> Result<Table> {
        let id = match &self.id {
            Some(id) => Some(ColumnRef::new(id).find(whole)?),
            None => None,
        };
        let mut columns: Vec<Column> = id.map(|at| whole.columns[at].clone()).into_iter().collect();
        let kept = self.keep.of(whole)?;
        columns.extend(kept.into_iter().filter(|c| id.is_none_or(|at| whole.columns[at].name != c.name)));
        let beside = &columns[usize::from(id.is_some())..];
        if let Some(taken) = beside.iter().find(|c| c.name == "id" || c.name == "vector") {
            return Err(Failure::Usage(format!(
                "--keep: the output has a column `{}` of its own; rename it in the input{}",
                taken.name,
                if taken.name == "id" { ", or take it for the ids: --id id" } else { "" }
            )));
        }
        let z = model.transform(self.rows.of(batch))?;
        columns.extend(
            (0..z.cols()).map(|j| Column::numbers(format!("z{}", j + 1), (0..z.rows()).map(|i| z[(i, j)]).collect())),
        );
        let mut out = Table::new(batch.origin.clone(), columns);
        (out.first_row, out.lines) = (batch.first_row, batch.lines.clone());
        Ok(out)
    }
}
