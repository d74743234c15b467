//! How a fit is told of while it runs: a bar on a terminal, a line every few seconds in a log, and with `-v` more of them.

use crate::output::short;
use crate::session::Session;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use lipmetric::solver::{Halt, Observer, Progress};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Seconds after which a line is told that says nothing new but that the fit is going on.
pub(crate) const LOG_EVERY: f64 = 10.0;
/// With `-v` news is told so many seconds after the line before, ...
const NEWS_EVERY: f64 = 1.0;
/// ... and of long fits after this part of the time that they have taken: a hundred lines or so are enough for any.
const NEWS_PART: f64 = 0.05;

/// Which lines are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// None.
    Nothing,
    /// In a log one every few seconds.
    Log,
    /// `-v`: how each part of the work begins and ends, and news of it every second or so.
    News,
    /// `-vv`: every step with other figures than the one before.
    Steps,
}

/// What a fit is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Folds,
    CMax,
    Fit,
}

/// What is told of a step, as it is written: a line with the same figures as the one before is no news.
#[derive(Debug, Clone, PartialEq)]
struct Figures {
    part: Part,
    words: String,
}

impl Figures {
    fn of(at: &Progress) -> Self {
        let part = match (at.folds, at.c_max) {
            (Some(_), _) => Part::Folds,
            (None, Some(_)) => Part::CMax,
            (None, None) => Part::Fit,
        };
        Self { part, words: figures(at) }
    }

    /// Whether there is more to tell than that another step was done.
    fn are_some(&self) -> bool {
        !self.words.is_empty()
    }
}

/// Decides which steps become lines of a log.
struct Log {
    detail: Detail,
    /// What was told last, and the second in which it was.
    told: Option<Figures>,
    at: f64,
    /// The last step, if it was not told.
    left: Option<(Figures, String)>,
}

impl Log {
    fn new(detail: Detail) -> Self {
        Self { detail, told: None, at: 0.0, left: None }
    }

    /// The lines that a step adds: its own, and before it the last one of a part of the work that has ended.
    fn lines(&mut self, at: &Progress, line: &str) -> Vec<String> {
        let figures = Figures::of(at);
        let before = self.left.take();
        let mut lines = Vec::new();
        if let Some((last, line)) = before.filter(|(last, _)| last.part != figures.part && last.part != Part::Folds) {
            lines.extend(self.worth_a_last_word(&last).then_some(line));
        }
        let waited = at.seconds - self.at;
        let news = figures.are_some() && self.told.as_ref() != Some(&figures);
        let told = match self.detail {
            Detail::Nothing => false,
            Detail::Log => waited >= LOG_EVERY,
            Detail::News => {
                let begins = self.told.as_ref().is_none_or(|told| told.part != figures.part);
                let soon = NEWS_EVERY.max(NEWS_PART * at.seconds);
                (news && (begins || waited >= soon)) || waited >= LOG_EVERY.max(soon)
            }
            Detail::Steps => news || waited >= LOG_EVERY,
        };
        if told {
            (self.told, self.at) = (Some(figures), at.seconds);
            lines.push(line.to_owned());
        } else {
            self.left = Some((figures, line.to_owned()));
        }
        lines
    }

    /// The line that is left at the end.
    fn last(&mut self) -> Option<String> {
        let (figures, line) = self.left.take()?;
        self.worth_a_last_word(&figures).then_some(line)
    }

    fn worth_a_last_word(&self, last: &Figures) -> bool {
        let asked = matches!(self.detail, Detail::News | Detail::Steps);
        asked && last.are_some() && self.told.as_ref() != Some(last)
    }
}

/// Watches one fit.
pub(crate) struct FitObserver<'a> {
    session: &'a Session,
    bar: ProgressBar,
    log: Log,
    begun: Instant,
}

impl<'a> FitObserver<'a> {
    pub(crate) fn new(session: &'a Session, bar: ProgressBar, detail: Detail) -> Self {
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { session, bar, log: Log::new(detail), begun: Instant::now() }
    }
}

/// How far a fit is: of one that learns from folds by how many of them are done, and how long it will still take.
fn line(at: &Progress) -> String {
    let (figures, seconds) = (figures(at), format!("{:.1} s", at.seconds));
    if let Some((done, all)) = at.folds {
        let left = at.seconds * all.saturating_sub(done) as f64 / done.max(1) as f64;
        let left = HumanDuration(Duration::from_secs(left as u64 + 1));
        return if done > 0 {
            format!("{figures}, {seconds}, about {left} left")
        } else {
            format!("{figures}, {seconds}")
        };
    }
    let mut line = match at.c_max {
        Some(_) => figures,
        None if figures.is_empty() => format!("iteration {}", at.iteration),
        None => format!("iteration {}, {figures}", at.iteration),
    };
    if let Some(pairs) = at.working_set {
        line += &format!(", {pairs} pairs");
    }
    if let Some(part) = at.looked_at.filter(|part| *part < 1.0) {
        line += &format!(", looked at {:.1} % of all", 100.0 * part);
    }
    format!("{line}, {seconds}")
}

/// What is known, without the number of the step, its pairs and the clock.
fn figures(at: &Progress) -> String {
    match (at.folds, at.c_max) {
        (Some((done, all)), _) => return format!("fold {} of {all}", done + 1),
        (None, Some((below, above))) => return format!("c_max first: {}", between(below, above)),
        (None, None) => {}
    }
    let value = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {}", digits(value)));
    let gap = at.gap.map(|gap| format!("gap {gap:.1e}"));
    let parts = [value("objective", at.primal), value("bound", at.dual), gap];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Bounds that may not be there yet.
fn between(below: f64, above: f64) -> String {
    match (below > 0.0, above.is_finite()) {
        (false, false) => "not known yet".to_owned(),
        (true, false) => format!("at least {}", short(below)),
        (false, true) => format!("at most {}", short(above)),
        (true, true) => {
            let apart = match above / below - 1.0 {
                apart if apart < 1e-3 => "less than 0.1 % apart".to_owned(),
                apart if apart < 1.0 => format!("{} % apart", short(100.0 * apart)),
                apart => format!("a factor of {}", short(1.0 + apart)),
            };
            format!("{} to {} ({apart})", short(below), short(above))
        }
    }
}

/// Enough digits to see a fit move.
fn digits(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e7).contains(&value.abs()) {
        let places = (6 - value.abs().log10().floor() as i32).max(0) as usize;
        format!("{value:.places$}")
    } else {
        format!("{value:.6e}")
    }
}

impl Observer for FitObserver<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        // What comes before a method looks at the clock, and what comes after it, takes time as well.
        let mut at = *at;
        at.seconds = self.begun.elapsed().as_secs_f64();
        let line = line(&at);
        if let Some((done, all)) = at.folds {
            show_folds(&self.bar, done, all);
        }
        let lines = self.log.lines(&at, &line);
        if !lines.is_empty() {
            self.bar.suspend(|| lines.iter().for_each(|line| self.session.note(line)));
        }
        self.bar.set_message(line);
        if self.session.interrupted() { ControlFlow::Break(Halt::Interrupted) } else { ControlFlow::Continue(()) }
    }

    fn decided(&mut self, what: &str) {
        self.bar.suspend(|| self.session.detail(what));
    }
}

impl Drop for FitObserver<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(line) = self.log.last() {
            self.session.note(line);
        }
    }
}

/// Makes a bar with an end of a spinner.
fn show_folds(bar: &ProgressBar, done: usize, all: usize) {
    if bar.length() != Some(all as u64) {
        bar.set_length(all as u64);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {msg}") {
            bar.set_style(style);
        }
    }
    bar.set_position(done as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(detail: Detail, steps: impl Iterator<Item = Progress>) -> Vec<String> {
        let mut log = Log::new(detail);
        let mut all: Vec<String> = steps.flat_map(|at| log.lines(&at, &line(&at))).collect();
        all.extend(log.last());
        all
    }

    fn at(seconds: f64, change: impl Fn(&mut Progress)) -> Progress {
        let mut at = Progress::default();
        at.seconds = seconds;
        change(&mut at);
        at
    }

    #[test]
    fn steps_with_the_same_figures_are_told_once_and_how_a_part_ends_is_told() {
        let c_max = (0..100).map(|k| at(1e-3 * f64::from(k), |at| at.c_max = Some((1.0, 3.0 - f64::from(k / 50)))));
        let fit = (0..100).map(|k| {
            at(0.1 + 1e-3 * f64::from(k), |at| {
                (at.iteration, at.primal, at.gap) = (k as usize, Some(5.0), Some(0.5 / f64::from(1 + k / 10)));
            })
        });
        let steps = || c_max.clone().chain(fit.clone());
        assert_eq!(
            lines(Detail::News, steps()),
            [
                "c_max first: 1 to 3 (a factor of 3), 0.0 s",
                "c_max first: 1 to 2 (a factor of 2), 0.1 s",
                "iteration 0, objective 5.000000, gap 5.0e-1, 0.1 s",
                "iteration 99, objective 5.000000, gap 5.0e-2, 0.2 s"
            ]
        );
        let all = lines(Detail::Steps, steps());
        assert_eq!(all.len(), 2 + 10, "{all:?}");
        assert!(lines(Detail::Log, steps()).is_empty() && lines(Detail::Nothing, steps()).is_empty());
    }

    #[test]
    fn a_long_fit_is_told_of_in_about_a_hundred_lines_and_never_silent_for_long() {
        let step = |k: u32| at(0.01 * f64::from(k), |at| at.gap = Some(1.0 / f64::from(k + 1)));
        let news = lines(Detail::News, (0..60_000).map(step));
        assert!((60..130).contains(&news.len()), "{}", news.len());
        // Nothing new for a minute.
        let same = || (0..6_000).map(|k| at(0.01 * f64::from(k), |at| at.gap = Some(1.0)));
        assert_eq!(lines(Detail::News, same()).len(), 6);
        assert_eq!(lines(Detail::Log, same()).len(), 5);
        let bare = || (0..6_000).map(|k| at(0.01 * f64::from(k), |at| at.iteration = k as usize));
        assert_eq!(lines(Detail::News, bare()).len(), 5);
    }

    #[test]
    fn what_is_not_known_of_c_max_is_not_told() {
        for (bounds, told) in [
            ((0.0, f64::INFINITY), "not known yet"),
            ((2.0, f64::INFINITY), "at least 2"),
            ((0.0, 2.5), "at most 2.5"),
            ((53.273_7, 53.273_71), "53.27 to 53.27 (less than 0.1 % apart)"),
        ] {
            assert_eq!(between(bounds.0, bounds.1), told);
        }
    }
}
