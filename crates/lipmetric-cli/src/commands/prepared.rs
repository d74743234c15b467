//! What became of the columns of a table, in words.

use crate::output::{Align, TextTable, short};
use lipmetric::prepare::{Encoding, Fill, Preparation, Scaling, Step};

/// Columns that a fit lists one by one; more are summed up.
const LISTED: usize = 20;

/// What becomes of a column.
struct Prepared {
    kind: String,
    missing: usize,
    fill: String,
    becomes: String,
    /// The same of many columns, in words.
    in_words: &'static str,
}

impl Prepared {
    fn of(preparation: &Preparation, step: &Step, encoding: &Encoding) -> Self {
        let (missing, fill, becomes, in_words) = match (step, encoding) {
            (Step::Level { fill, missing }, Encoding::Category { levels }) => {
                let level = levels.get(*fill as usize).cloned().unwrap_or_default();
                (*missing, level, format!("{} one-hot columns", levels.len()), "one-hot columns")
            }
            (Step::Number { fill, offset, scale, missing }, _) => {
                let (becomes, in_words) = match preparation.scaling() {
                    Scaling::None if *scale != 1.0 => (format!("x / {}", short(*scale)), "x / a power of two"),
                    Scaling::None => ("x".to_owned(), "x"),
                    Scaling::Unit => ("x / length of the row".to_owned(), "x / length of the row"),
                    scaling => {
                        let sign = if *offset < 0.0 { '+' } else { '-' };
                        let in_words = match scaling {
                            Scaling::Minmax => "(x - smallest) / range",
                            _ => "(x - mean) / deviation",
                        };
                        (format!("(x {sign} {}) / {}", short(offset.abs()), short(*scale)), in_words)
                    }
                };
                (*missing, short(*fill), becomes, in_words)
            }
            (Step::Quantiles { fill, missing, .. }, _) => {
                let quantile = "the normal quantile of its rank";
                (*missing, short(*fill), quantile.to_owned(), quantile)
            }
            (Step::Level { missing, .. }, _) => (*missing, String::new(), String::new(), ""),
            (other, _) => (0, String::new(), format!("{other:?}"), ""),
        };
        let fill = if preparation.fill() == Fill::Error { "(refused)".to_owned() } else { fill };
        Self { kind: encoding.kind().to_string(), missing, fill, becomes, in_words }
    }
}

/// What becomes of the columns: of each, or of many of a kind.
pub(crate) fn describe(preparation: &Preparation) -> String {
    if preparation.schema().features.len() <= LISTED {
        return describe_every_column(preparation);
    }
    summed(preparation) + &ignored(preparation, LISTED) + "`lipmetric inspect MODEL` lists every column\n"
}

/// The columns that are no features.
fn ignored(preparation: &Preparation, most: usize) -> String {
    let all = &preparation.schema().ignored;
    if all.is_empty() {
        return String::new();
    }
    let more = all.len().saturating_sub(most);
    let and = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("ignored: {}{and}\n", all[..all.len() - more].join(", "))
}

/// What becomes of each column.
pub(crate) fn describe_every_column(preparation: &Preparation) -> String {
    let mut table = TextTable::new(vec![Align::Left, Align::Left, Align::Right, Align::Left, Align::Left]);
    table.row(["column", "kind", "missing", "filled with", "becomes"]);
    for (feature, step) in preparation.schema().features.iter().zip(preparation.steps()) {
        let told = Prepared::of(preparation, step, &feature.encoding);
        table.row([feature.name.clone(), told.kind, told.missing.to_string(), told.fill, told.becomes]);
    }
    table.render() + &ignored(preparation, usize::MAX)
}

/// Columns that become the same.
struct Alike<'a> {
    kind: String,
    becomes: &'static str,
    count: usize,
    /// The names of the first and the last of them.
    names: [&'a str; 2],
    /// Cells without a value.
    missing: usize,
    /// Columns that have some.
    among: usize,
}

/// A line for all columns that become the same.
fn summed(preparation: &Preparation) -> String {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for (feature, step) in preparation.schema().features.iter().zip(preparation.steps()) {
        let told = Prepared::of(preparation, step, &feature.encoding);
        let name = feature.name.as_str();
        let known = groups.iter().position(|g| g.kind == told.kind && g.becomes == told.in_words);
        let at = known.unwrap_or_else(|| {
            let (kind, becomes) = (told.kind, told.in_words);
            groups.push(Alike { kind, becomes, count: 0, names: [name; 2], missing: 0, among: 0 });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.count += 1;
        group.names[1] = name;
        group.missing += told.missing;
        group.among += usize::from(told.missing > 0);
    }
    let mut table = TextTable::new(vec![Align::Right, Align::Left, Align::Left, Align::Left, Align::Left]);
    table.row(["columns", "kind", "from, to", "missing", "becomes"]);
    for Alike { kind, becomes, count, names: [first, last], missing, among } in groups {
        let names = if count == 1 { first.to_owned() } else { format!("{first}, {last}") };
        let missing = if missing == 0 { "0".to_owned() } else { format!("{missing} in {among} of them") };
        table.row([count.to_string(), kind, names, missing, becomes.to_owned()]);
    }
    table.render()
}
