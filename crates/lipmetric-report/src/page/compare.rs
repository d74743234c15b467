use super::{About, Page, Sheet};
use crate::figure::Figure;
use crate::figure::bars::boxes;
use crate::figure::ranks::ranks;
use crate::markup::{Element, el};
use crate::number::{counted, percent, short};
use lipmetric::view::{ComparisonCell, ComparisonView};

/// The page about a comparison.
#[must_use]
pub fn compare_page(view: &ComparisonView, about: &About) -> Page {
    let subtitle = format!(
        "{} on {}: {} of {} of each class to train, the same for every method.",
        counted(view.methods.len(), "method", "methods"),
        counted(view.subjects.len(), "data set", "data sets"),
        counted(view.repeats, "split", "splits"),
        percent(view.train_fraction)
    );
    let mut sheet = Sheet::new("Methods compared", subtitle);
    glance(&mut sheet, view);
    sheet.section("table", "Accuracy", "Mean ± standard deviation over the splits, in per cent; the best of each row is bold. Bars begin at the least of the row.");
    sheet.push(table(view));
    for (subject, row) in view.subjects.iter().zip(&view.cells) {
        for (method, why) in view.methods.iter().zip(row).filter_map(|(m, c)| Some((m, c.refused.as_ref()?))) {
            sheet.push(el("p").class("warn").text(format!("{method} on {subject}: {why}")));
        }
    }
    if view.methods.len() > 1 {
        verdicts(&mut sheet, view);
    }
    if let Some(r) = &view.ranks {
        let intro = format!(
            "Average ranks over {}, 1 being the best. Bars join methods whose ranks are nearer than the critical difference: they cannot be told apart at {} %.",
            counted(r.data_sets, "data set", "data sets"),
            short(100.0 * view.level)
        );
        sheet.section("ranks", "Ranks", &intro);
        let mut says = format!("Friedman's test that the methods do not differ at all has p = {}.", short(r.p));
        if r.p > view.level {
            says += " It shows no difference between the methods.";
        }
        let figure = Figure::new("critical-difference", "Critical-difference diagram", 680.0, 200.0).says(says).wide();
        sheet.figures(vec![ranks(figure, &view.methods, &r.average, r.critical_difference)]);
        if !r.left_out.is_empty() {
            sheet
                .say(&format!("Without a result of every method, and so not in the ranks: {}.", r.left_out.join(", ")));
        }
    }
    sheet.section(
        "splits",
        "Every split",
        "A dot is a split; the box holds the middle half, its line is the median, whiskers reach the ends.",
    );
    let one = |(s, row): (usize, &Vec<ComparisonCell>)| {
        let rows: Vec<(String, Vec<f64>, bool)> =
            view.methods.iter().zip(row).map(|(m, c)| (m.clone(), c.splits.clone(), c.best)).collect();
        let majority = view.majority[s]
            .map_or_else(String::new, |m| format!(" The largest class has {} of the rows.", percent(m)));
        let figure = Figure::new(format!("splits-{}", s + 1), view.subjects[s].clone(), 460.0, 300.0);
        boxes(figure.says(format!("Accuracy on each split.{majority}")), "accuracy, %", &rows)
    };
    sheet.figures(view.cells.iter().enumerate().map(one).collect());
    sheet.finish(about)
}

fn glance(sheet: &mut Sheet, view: &ComparisonView) {
    let wins = |m: usize| view.cells.iter().filter(|row| row[m].best).count();
    let order: Vec<usize> = {
        let mut all: Vec<usize> = (0..view.methods.len()).collect();
        match &view.ranks {
            Some(r) => all.sort_by(|&a, &b| r.average[a].total_cmp(&r.average[b])),
            None => all.sort_by_key(|&m| std::cmp::Reverse(wins(m))),
        }
        all
    };
    if let Some(&top) = order.first() {
        let sets = counted(view.subjects.len(), "data set", "data sets");
        let words = match &view.ranks {
            Some(r) => {
                format!("Average rank {}; the best or as good on {} of {sets}.", short(r.average[top]), wins(top))
            }
            None => format!("The best or as good on {} of {sets}.", wins(top)),
        };
        let tied = view.ranks.as_ref().is_some_and(|r| r.p > view.level);
        let words = if tied { format!("{words} The ranks show no difference between the methods.") } else { words };
        let question = if view.ranks.is_some() { "First by rank" } else { "Most often best" };
        sheet.glance(question, &view.methods[top], &words);
    }
    if let Some(against) = &view.against {
        let better: usize = view.verdicts.iter().filter(|v| v.3 == "better").count();
        let words = if better == 0 {
            format!("No method is shown to be better than {against} at {} %.", short(100.0 * view.level))
        } else {
            format!(
                "Of {} methods so many are shown to be better than {against} at {} %.",
                view.verdicts.len(),
                short(100.0 * view.level)
            )
        };
        sheet.glance("Beyond chance", &better.to_string(), &words);
    }
    let refused: usize = view.cells.iter().flatten().filter(|c| c.refused.is_some()).count();
    let cells = view.cells.iter().map(Vec::len).sum::<usize>();
    let words = if refused == 0 {
        "Every method was fitted on every split.".to_owned()
    } else {
        format!("{} no result.", if refused == 1 { "1 cell has".to_owned() } else { format!("{refused} cells have") })
    };
    sheet.glance(
        "How much was run",
        &counted(cells * view.repeats, "fit", "fits"),
        &format!("{words} It took {} seconds.", short(view.seconds)),
    );
}

/// Data sets down, methods across, with bars.
fn table(view: &ComparisonView) -> Element {
    let head = ["data"].into_iter().chain(view.methods.iter().map(String::as_str));
    let head = el("tr").all(head.map(|h| el("th").set("scope", "col").with(el("bdi").text(h))));
    let row = |(name, cells): (&String, &Vec<ComparisonCell>)| {
        let means: Vec<f64> = cells.iter().filter_map(|c| c.mean).collect();
        let (low, high) = crate::scale::extent(means.iter().copied());
        let low = low - 0.25 * (high - low) - 1e-3;
        let one = |c: &ComparisonCell| {
            let out = if c.best { el("td").class("best") } else { el("td") };
            match (c.mean, c.sd) {
                (Some(mean), Some(sd)) => {
                    let part = 100.0 * (mean - low) / (high - low);
                    let shown = format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * sd);
                    let bar = el("i").set("style", format!("width:{part:.1}%"));
                    out.with(el("span").class("barcell").with(bar).with(el("b").text(shown)))
                }
                _ => out.set("title", c.refused.as_deref().unwrap_or("no result")).text("–"),
            }
        };
        el("tr").with(el("th").set("scope", "row").with(el("bdi").text(name))).all(cells.iter().map(one))
    };
    let body = el("tbody").all(view.subjects.iter().zip(&view.cells).map(row));
    let table = el("table").class("full").with(el("thead").with(head)).with(body);
    let scroll = el("div").class("scroll").set("tabindex", 0).set("role", "region").set("aria-label", "Accuracy");
    el("div").class("tablecard").with(scroll.with(table))
}

fn verdicts(sheet: &mut Sheet, view: &ComparisonView) {
    let Some(against) = &view.against else { return };
    let mut table = crate::figure::Table::new(["method", "better", "worse", "undecided", "mean difference", "verdict"]);
    for (name, [better, worse, neither], mean, verdict) in &view.verdicts {
        let mean = mean.map_or_else(|| "–".to_owned(), |d| format!("{:+.2} points", 100.0 * d).replace('-', "−"));
        table.row([name.clone(), better.to_string(), worse.to_string(), neither.to_string(), mean, verdict.clone()]);
    }
    let words = format!(
        "Number of data sets on which the difference is significant at {} % (corrected resampled t-test, Holm-corrected); the verdict is over all of them.",
        short(100.0 * view.level)
    );
    let card = el("div").class("tablecard").with(el("h3").text(format!("Against {against}")));
    let scroll = el("div").class("scroll").set("tabindex", 0).set("role", "region").set("aria-label", "Differences");
    sheet.push(card.with(el("p").class("intro").text(words)).with(scroll.with(table.element())));
}
