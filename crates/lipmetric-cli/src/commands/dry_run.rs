//! What a fit would take: its size, and its time by fits of some of the rows.

use super::watched::End;
use crate::failure::Result;
use crate::memory;
use crate::method::options;
use crate::output::{self, Align, TextTable};
use indicatif::HumanDuration;
use lipmetric::data::holdouts;
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
    facts.row(["pairs of rows", &foreseen.pairs.to_string()]);
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
            for timed in samples(data.labels.len()).map(|rows| time(recipe, data, rows)) {
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
                    let why = format!("(some of the rows: {})", options::in_flags(&error.to_string()));
                    return show(facts, ("not known".to_owned(), why));
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return show(facts, expected(&times, data.labels.len()));
                }
                // The sample is not waited for.
                Err(RecvTimeoutError::Timeout) => return show(facts, expected(&times, data.labels.len())).end(),
            }
        }
    })
}

/// Numbers of rows: each twice the one before, all of them last.
fn samples(n: usize) -> impl Iterator<Item = usize> {
    let next = move |rows: &usize| (*rows < n).then(|| (2 * rows).min(n));
    std::iter::successors(Some(FIRST.min(n)), next)
}

fn time(recipe: &Recipe<'_>, data: &Dataset, rows: usize) -> lipmetric::Result<Timed> {
    let n = data.labels.len();
    let some = if rows < n { holdouts(&data.labels, rows as f64 / n as f64, 1, 0)?.pop() } else { None };
    let begun = Instant::now();
    recipe.fit(data, some.as_ref().map(|split| split.train.as_slice()), &mut Silent)?;
    Ok((rows, begun.elapsed().as_secs_f64()))
}

/// The time of `n` rows by those of fewer, and what it rests on.
fn expected(times: &[Timed], n: usize) -> (String, String) {
    let Some(&(rows, seconds)) = times.last() else {
        let most = format!("more than {}", HumanDuration(PATIENCE));
        return (most, format!("(a fit of {} of the rows takes longer)", FIRST.min(n)));
    };
    if rows >= n {
        return (shown(seconds), "(as a trial took)".to_owned());
    }
    let (power, by) = match times {
        [.., (fewer, before), _] => {
            let power = (seconds / before).ln() / (rows as f64 / *fewer as f64).ln();
            (power.clamp(POWERS.0, POWERS.1), format!("(by fits of {fewer} and {rows} of the rows)"))
        }
        _ => (PAIRS, format!("(by a fit of {rows} of the rows)")),
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
        let time = |times: &[Timed], n| expected(times, n).0;
        assert_eq!(time(&[(200, 0.5), (400, 2.0)], 4000), "about 3 minutes", "by squares: 200 s");
        assert_eq!(time(&[(200, 1.0), (400, 2.0)], 4000), "about 20 seconds");
        assert_eq!(time(&[(200, 0.1)], 2000), "about 10 seconds");
        assert_eq!(time(&[(200, 0.1), (300, 0.2)], 300), "less than a second");
        assert_eq!(time(&[], 300), "more than 8 seconds");
    }
}
