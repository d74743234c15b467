//! What a fit would take: its size, and its time by fits of some of the rows.

use super::watched::End;
use crate::failure::Result;
use crate::memory;
use crate::method::options;
use crate::output::{self, Align, TextTable};
use indicatif::HumanDuration;
use lipmetric::data::{Pair, holdouts};
use lipmetric::model::Recipe;
use lipmetric::prepare::Dataset;
use lipmetric::solver::Silent;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Rows of the first sample, ...
const FIRST: usize = 200;
/// ... which is doubled until a fit takes this many seconds, ...
const ENOUGH: f64 = 0.5;
/// ... or all of them together take this long.
const PATIENCE: Duration = Duration::from_secs(8);

/// Times grow at the least and at the most with these powers of the number of rows.
const POWERS: (f64, f64) = (0.3, 2.5);
/// What is assumed where a single sample was fitted: most methods look at pairs of rows.
const PAIRS: f64 = 2.0;

/// How many rows were fitted, and the seconds that it took.
type Timed = (usize, f64);

/// Prints how large the fit would be and how long it would take.
pub(super) fn tell(recipe: &Recipe<'_>, data: &Dataset, origin: &str, most: Option<u64>) -> Result {
    let foreseen = recipe.foresee(data);
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    facts.row(["rows", &foreseen.rows.to_string()]);
    facts.row(["features", &foreseen.features.to_string()]);
    let told = Told::of(recipe, data);
    match told.what {
        "rows" => facts.row(["pairs of rows", &foreseen.pairs.to_string()]),
        what => facts.row([what, &told.count.to_string()]),
    }
    facts.row(["memory at least", &memory::shown(foreseen.bytes)]);
    if let Some(free) = memory::available() {
        facts.row(["memory free", &memory::shown(free)]);
    }
    let show = |mut facts: TextTable, (time, by): (String, String)| {
        facts.row(["time", &time]);
        facts.row(["", &by]);
        output::print(&format!("{origin}: nothing was fitted\n\n{}", facts.render()))
    };
    if memory::check(&foreseen, most, origin).is_err() {
        return show(facts, ("not known".to_owned(), "(it would not find room in memory)".to_owned()));
    }
    let recipe = &recipe.keeping_certificate(false);
    std::thread::scope(|scope| {
        let (sender, news) = channel();
        scope.spawn(move || {
            for timed in samples(told.count).map(|count| time(recipe, data, count)) {
                let last = timed.as_ref().is_ok_and(|t| t.1 < ENOUGH);
                if sender.send(timed).is_err() || !last {
                    return;
                }
            }
        });
        let (begun, mut times) = (Instant::now(), Vec::new());
        loop {
            match news.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(Ok(timed)) => times.push(timed),
                Ok(Err(error)) if times.is_empty() => {
                    let why = format!("(some of the {}: {})", told.what, options::in_flags(&error.to_string()));
                    return show(facts, ("not known".to_owned(), why));
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return show(facts, expected(&times, told));
                }
                // The sample is not waited for.
                Err(RecvTimeoutError::Timeout) => return show(facts, expected(&times, told)).end(),
            }
        }
    })
}

/// Numbers of rows: each twice the one before, all of them last.
fn samples(n: usize) -> impl Iterator<Item = usize> {
    let next = move |rows: &usize| (*rows < n).then(|| (2 * rows).min(n));
    std::iter::successors(Some(FIRST.min(n)), next)
}

/// What the time of a fit grows with: labelled rows, or what is told of rows.
#[derive(Clone, Copy)]
struct Told {
    what: &'static str,
    count: usize,
}

impl Told {
    fn of(recipe: &Recipe<'_>, data: &Dataset) -> Self {
        let (pairs, comparisons) = (recipe.pairs.map(<[_]>::len), recipe.triplets.map(<[_]>::len));
        let comparisons = comparisons.or(recipe.quadruplets.map(<[_]>::len));
        match (pairs, comparisons) {
            (Some(count), _) => Self { what: "pairs", count },
            (None, Some(count)) => Self { what: "comparisons", count },
            (None, None) => Self { what: "rows", count: data.labels.len() },
        }
    }
}

fn time(recipe: &Recipe<'_>, data: &Dataset, count: usize) -> lipmetric::Result<Timed> {
    let all = Told::of(recipe, data).count;
    let (pairs, triplets, quadruplets) = (
        recipe.pairs.map(|pairs| some_pairs(pairs, count)),
        recipe.triplets.map(|all| spread(all, count)),
        recipe.quadruplets.map(|all| spread(all, count)),
    );
    let fewer = recipe.pairing(pairs.as_deref()).comparing(triplets.as_deref()).comparing_pairs(quadruplets.as_deref());
    let rows = (pairs.is_none() && triplets.is_none() && quadruplets.is_none() && count < all)
        .then(|| holdouts(&data.labels, count as f64 / all as f64, 1, 0))
        .transpose()?
        .and_then(|mut splits| splits.pop());
    let begun = Instant::now();
    fewer.fit(data, rows.as_ref().map(|split| split.train.as_slice()), &mut Silent)?;
    Ok((count, begun.elapsed().as_secs_f64()))
}

/// So many of them, evenly chosen.
fn spread<T: Copy>(all: &[T], count: usize) -> Vec<T> {
    (0..count.min(all.len())).map(|k| all[k * all.len() / count.min(all.len())]).collect()
}

/// So many pairs, of each kind as many as its share is, and at least one.
fn some_pairs(pairs: &[Pair], count: usize) -> Vec<Pair> {
    let kind = |similar: bool| pairs.iter().filter(|p| p.similar == similar).copied().collect::<Vec<Pair>>();
    let share = |of: &[Pair]| (count * of.len()).div_ceil(pairs.len().max(1));
    let (similar, dissimilar) = (kind(true), kind(false));
    let mut some = spread(&similar, share(&similar));
    some.extend(spread(&dissimilar, share(&dissimilar)));
    some
}

/// The time of all by those of fewer, and what it rests on.
fn expected(times: &[Timed], told: Told) -> (String, String) {
    let (n, what) = (told.count, told.what);
    let Some(&(rows, seconds)) = times.last() else {
        let most = format!("more than {}", HumanDuration(PATIENCE));
        return (most, format!("(a fit of {} of the {what} takes longer)", FIRST.min(n)));
    };
    if rows >= n {
        return (shown(seconds), "(as a trial took)".to_owned());
    }
    let (power, by) = match times {
        [.., (fewer, before), _] => {
            let power = (seconds / before).ln() / (rows as f64 / *fewer as f64).ln();
            (power.clamp(POWERS.0, POWERS.1), format!("(by fits of {fewer} and {rows} of the {what})"))
        }
        _ => (PAIRS, format!("(by a fit of {rows} of the {what})")),
    };
    (shown(seconds * (n as f64 / rows as f64).powf(power)), by)
}

fn shown(seconds: f64) -> String {
    if seconds < 1.0 {
        return "less than a second".to_owned();
    }
    format!("about {}", HumanDuration(Duration::try_from_secs_f64(seconds.round()).unwrap_or(Duration::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_double_until_all_rows_are_in() {
        assert_eq!(samples(74).collect::<Vec<_>>(), [74]);
        assert_eq!(samples(1000).collect::<Vec<_>>(), [200, 400, 800, 1000]);
    }

    #[test]
    fn times_grow_as_they_did_between_samples() {
        let time = |times: &[Timed], count| expected(times, Told { what: "rows", count }).0;
        assert_eq!(time(&[(200, 0.5), (400, 2.0)], 4000), "about 3 minutes", "by squares: 200 s");
        assert_eq!(time(&[(200, 1.0), (400, 2.0)], 4000), "about 20 seconds");
        assert_eq!(time(&[(200, 0.1)], 2000), "about 10 seconds");
        assert_eq!(time(&[(200, 0.1), (300, 0.2)], 300), "less than a second");
        assert_eq!(time(&[], 300), "more than 8 seconds");
    }
}
