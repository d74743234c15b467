use super::rows::listed;
use super::{About, Page, Sheet};
use crate::figure::cells::confusion;
use crate::figure::lines::{Along, Series, curves};
use crate::figure::{Figure, Table};
use crate::markup::el;
use crate::number::{count, counted, percent, short};
use lipmetric::view::Judgement;

/// The page about how predictions compare with the truth.
#[must_use]
pub fn judgement_page(view: &Judgement, about: &About) -> Page {
    let mut sheet = Sheet::new("How good the predictions are", view.judged.clone());
    glance(&mut sheet, view);
    sheet.section("judgement", "Judgement", "");
    let names: Vec<String> = view.classes.iter().map(|c| c.name.clone()).collect();
    let says = "Rows are true classes, columns predicted ones; shades and per cents are of the true class.";
    let matrix = Figure::new("confusion", "Confusion matrix", 460.0, 300.0).says(says);
    let mut figures = vec![confusion(matrix, &names, &view.confusion)];
    if !view.bins.is_empty() {
        figures.push(reliability(view));
    }
    if let Some(curve) = &view.certified {
        let points = curve.x.iter().zip(&curve.y).map(|(x, y)| (*x, 100.0 * y)).collect();
        let mut series = Series::new("", points, 0, 0);
        series.dots = curve.x.len() <= 30;
        let says =
            format!("The part of the rows that are predicted rightly and stay so within the radius: {}.", view.radius);
        let figure = Figure::new("certified", "Certified accuracy against radius", 460.0, 300.0).says(says);
        figures.push(curves(
            figure,
            (&Along::new("radius"), &Along::new("% of rows").ends(0.0, 100.0)),
            &[series],
            None,
        ));
    }
    if view.splits.len() > 1 {
        let rows = [("accuracy".to_owned(), view.splits.clone(), true)];
        let figure = Figure::new("splits", "Every split", 460.0, 100.0).says("A dot is a split.");
        figures.push(crate::figure::bars::boxes(figure, "accuracy, %", &rows));
    }
    sheet.figures(figures);
    scores(&mut sheet, view);
    let mut rows = vec![
        ("accuracy", percent(view.accuracy)),
        ("balanced accuracy", percent(view.balanced)),
        ("macro F1", percent(view.macro_f1)),
        ("always the largest class", percent(view.majority)),
    ];
    rows.extend(view.auc.map(|v| ("AUC", percent(v))));
    rows.extend(view.brier.map(|v| ("Brier score (0 to 2)", short(v))));
    rows.extend(view.log_loss.map(|v| ("log-loss", short(v))));
    rows.extend(view.calibration_error.map(|v| ("calibration error", percent(v))));
    listed(&mut sheet, &rows);
    sheet.finish(about)
}

fn glance(sheet: &mut Sheet, view: &Judgement) {
    let band = format!("{} to {}", percent(view.band.0), percent(view.band.1));
    sheet.glance(
        "Accuracy",
        &percent(view.accuracy),
        &format!("On {} (95 % band {band}).", counted(view.rows, "row", "rows")),
    );
    let gain = view.accuracy - view.majority;
    let words = if view.band.0 > view.majority {
        "The predictions are better than that by more than chance."
    } else if gain > 0.0 {
        "The predictions are better than that, but the band does not exclude chance."
    } else {
        "The predictions are no better than that."
    };
    sheet.glance("Always the largest class", &percent(view.majority), words);
    if let Some(error) = view.calibration_error {
        let words = "How far probabilities are from the share of correct predictions, on average.";
        sheet.glance("Calibration error", &percent(error), words);
    }
    let worst = view
        .classes
        .iter()
        .filter(|c| c.recall.is_some())
        .min_by(|a, b| a.recall.partial_cmp(&b.recall).unwrap_or(std::cmp::Ordering::Equal));
    if let Some(class) = worst {
        let recall = class.recall.map_or_else(String::new, percent);
        sheet.glance(
            "Hardest class",
            &class.name,
            &format!("{recall} of its {} are found.", counted(class.rows, "row", "rows")),
        );
    }
    if view.seen > 0 {
        let words = format!(
            "{} of {} rows are training rows of the model: the figures are too good.",
            count(view.seen),
            count(view.rows)
        );
        sheet.glance("Careful", "", &words);
    }
}

fn reliability(view: &Judgement) -> Figure {
    let most = view.bins.iter().map(|b| b.rows).max().unwrap_or(1) as f64;
    let mut told =
        Series::new("predictions", view.bins.iter().map(|b| (100.0 * b.said, 100.0 * b.right)).collect(), 0, 0);
    told.dots = true;
    told.sizes = view.bins.iter().map(|b| 3.0 + 6.0 * (b.rows as f64 / most).sqrt()).collect();
    let ideal = Series::new("ideal", vec![(0.0, 0.0), (100.0, 100.0)], 5, 1);
    let mut table = Table::new(["probability", "correct", "rows"]);
    for b in &view.bins {
        table.row([percent(b.said), percent(b.right), count(b.rows)]);
    }
    let figure = Figure::new("reliability", "Reliability diagram", 460.0, 360.0)
        .says("The probability of the predicted class against the share of correct predictions; large dots are many rows. On the dashed line probabilities mean what they say.")
        .table(table);
    let low = view.bins.iter().map(|b| 100.0 * b.said.min(b.right)).fold(50.0, f64::min);
    let from = (low / 10.0).floor() * 10.0;
    let ends = |label: &str| Along::new(label).ends(from, 100.0);
    let ideal = Series { points: vec![(from, from), (100.0, 100.0)], ..ideal };
    curves(figure, (&ends("probability, %"), &ends("correct, %")), &[ideal, told], None)
}

fn scores(sheet: &mut Sheet, view: &Judgement) {
    let mut table = Table::new(["class", "precision", "recall", "F1", "rows"]);
    let figure = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), percent);
    for c in &view.classes {
        table.row([c.name.clone(), figure(c.precision), figure(c.recall), figure(c.f1), count(c.rows)]);
    }
    let scroll =
        el("div").class("scroll").set("tabindex", 0).set("role", "region").set("aria-label", "Scores of the classes");
    sheet.push(
        el("div").class("tablecard").with(el("h3").text("Scores of the classes")).with(scroll.with(table.element())),
    );
}
