use super::{About, Page, Sheet};
use crate::figure::lines::{Along, Series, curves};
use crate::figure::{Figure, Table};
use crate::number::{count, counted, percent, short};
use lipmetric::view::{PathPoint, PathView};

/// The page about a regularisation path.
#[must_use]
pub fn path_page(view: &PathView, about: &About) -> Page {
    let subtitle = format!(
        "{} on {}, {}: {} from a large c, where the metric is almost zero, to a small one, where it fits the rows most closely.",
        view.method,
        counted(view.rows, "row", "rows"),
        counted(view.features, "feature", "features"),
        counted(view.points.len(), "distance", "distances")
    );
    let mut sheet = Sheet::new(format!("Regularisation path of {}", view.source), subtitle);
    glance(&mut sheet, view);
    sheet.section("path", "Along c", "c is drawn as a part of c_max, at which the best metric is zero. Small values fit closely, large ones are simple.");
    for note in &view.notes {
        sheet.say(note);
    }
    let mark = view.chosen.map(|k| (view.points[k].c_rel, "chosen"));
    let across = Along::new("c / c_max").log();
    let dots = |name: &str, colour: usize, stroke: usize, read: &dyn Fn(&PathPoint) -> Option<f64>| {
        let points = view.points.iter().filter_map(|p| Some((p.c_rel, read(p)?))).collect();
        Series { dots: true, ..Series::new(name, points, colour, stroke) }
    };
    let objective = [dots("objective", 0, 0, &|p| p.objective)];
    let ratios = [
        dots("margin / diameter", 0, 0, &|p| Some(p.ratio_diameter)),
        dots("margin / class diameters", 1, 1, &|p| Some(p.ratio_intra)),
    ];
    let rank = [dots("rank", 0, 0, &|p| Some(p.rank as f64))];
    let pairs = [
        dots("at the margin", 0, 0, &|p| Some(p.margin_pairs as f64)),
        dots("at the diameter", 1, 1, &|p| Some(p.diameter_pairs as f64)),
    ];
    let mut figures = Vec::new();
    if view.folds > 0 {
        figures.push(accuracy(view, &across, mark));
    }
    let plain = Along::new("");
    let up = Along::new("").ends(0.0, view.features.max(1) as f64);
    let drawn: [(&str, &str, &str, &Along, &[Series]); 4] = [
        ("objective", "Objective", "What is minimised, at each c; every point is certified.", &plain, &objective),
        ("ratios", "Margin ratios", "Of the training rows. Larger is better separated.", &plain, &ratios),
        ("rank", "Rank of the metric", "How many directions the distance sees.", &up, &rank),
        ("support", "Support pairs", "How many pairs of rows determine each distance.", &plain, &pairs),
    ];
    figures.extend(drawn.into_iter().map(|(id, title, says, up, series)| {
        curves(Figure::new(id, title, 460.0, 300.0).says(says), (&across, up), series, mark)
    }));
    sheet.figures(figures);
    numbers(&mut sheet, view);
    if view.measured < view.rows {
        sheet.say(&format!("Margin ratios are of a sample of {} rows of {}.", count(view.measured), count(view.rows)));
    }
    sheet.finish(about)
}

fn accuracy(view: &PathView, across: &Along, mark: Option<(f64, &str)>) -> Figure {
    let judged = || view.points.iter().filter_map(|p| Some((p.c_rel, 100.0 * p.accuracy?, 100.0 * p.standard_error?)));
    let mut series =
        Series::new("held-out accuracy of the nearest row", judged().map(|(c, a, _)| (c, a)).collect(), 0, 0);
    series.band = judged().map(|(_, a, e)| (a - e, a + e)).collect();
    series.dots = true;
    let says = format!(
        "Mean over {} folds that a distance was not learned from, with one standard error on each side.",
        view.folds
    );
    curves(
        Figure::new("accuracy", "Held-out accuracy", 460.0, 300.0).says(says),
        (across, &Along::new("%")),
        &[series],
        mark,
    )
}

fn glance(sheet: &mut Sheet, view: &PathView) {
    if let Some(p) = view.chosen.map(|k| &view.points[k]) {
        let (accuracy, error) = (p.accuracy.unwrap_or(0.0), p.standard_error.unwrap_or(0.0));
        let words = format!(
            "The highest held-out accuracy: {} ± {} of the nearest row. c itself is {}.",
            percent(accuracy),
            percent(error),
            p.c.map_or_else(|| "–".to_owned(), short)
        );
        sheet.glance("Chosen c / c_max", &short(p.c_rel), &words);
        sheet.glance(
            "Its rank",
            &format!("{} of {}", p.rank, view.features),
            "Directions that the chosen distance sees.",
        );
        let words = format!(
            "{} determine the margin, {} the diameter.",
            counted(p.margin_pairs, "pair", "pairs"),
            count(p.diameter_pairs)
        );
        sheet.glance("It rests on", &counted(p.margin_pairs + p.diameter_pairs, "pair", "pairs"), &words);
    }
    let worst = view.points.iter().filter_map(|p| p.gap).fold(0.0, f64::max);
    sheet.glance("How sure", &format!("gap {}", short(worst)), "The largest certified gap along the path: no distance can be better than these by more than that part of the objective.");
}

fn numbers(sheet: &mut Sheet, view: &PathView) {
    use crate::markup::el;
    let mut table = Table::new([
        "c / c_max",
        "c",
        "objective",
        "certified gap",
        "rank",
        "margin / diameter",
        "margin / class diameters",
        "accuracy",
        "margin pairs",
        "diameter pairs",
    ]);
    let number = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), short);
    for p in &view.points {
        let accuracy = p.accuracy.map_or_else(|| "–".to_owned(), percent);
        table.row([
            short(p.c_rel),
            number(p.c),
            number(p.objective),
            number(p.gap),
            p.rank.to_string(),
            short(p.ratio_diameter),
            short(p.ratio_intra),
            accuracy,
            p.margin_pairs.to_string(),
            p.diameter_pairs.to_string(),
        ]);
    }
    let scroll = el("div").class("scroll").set("tabindex", 0).set("role", "region").set("aria-label", "All points");
    sheet.push(el("div").class("tablecard").with(el("h3").text("All points")).with(scroll.with(table.element())));
}
