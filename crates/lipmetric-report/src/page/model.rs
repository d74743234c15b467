use super::rows::{about_maps, listed, maps, separation, shares};
use super::{About, Page, Sheet};
use crate::figure::bars::{Bar, bars, columns};
use crate::figure::cells::heat;
use crate::figure::lines::{Along, Series, curves};
use crate::figure::map::{Drawn, circle, map};
use crate::figure::plane::plane;
use crate::figure::{Figure, Table};
use crate::markup::{Element, el};
use crate::number::{count, counted, percent, precise, short};
use lipmetric::view::{How, ModelView, PairDistances, Plane, Step, SupportView};

/// Bars of features before the others are asked for.
const TOP: usize = 20;

/// The page about a model.
#[must_use]
pub fn model_page(view: &ModelView, about: &About) -> Page {
    let mut sheet = Sheet::new(format!("What {} learned from {}", view.method, view.source), subtitle(view));
    glance(&mut sheet, view);
    if let Some(rows) = &view.rows {
        let (shown, of) = (rows.shown.rows.len(), rows.shown.of);
        sheet.section("data", "The data before and after", &about_maps(shown, of, &rows.before));
        maps(&mut sheet, rows, &view.classes);
        if rows.after.is_none() {
            sheet.say("The distance of this model is the Euclidean one on the prepared features: before and after are the same.");
        }
        if !view.planes.is_empty() {
            sheet.section(
                "function",
                "The function that predicts",
                "Over the two features, in the units of the input.",
            );
            let one = |(k, p): (usize, &Plane)| {
                let title = if k == 0 {
                    "The model's own function".to_owned()
                } else {
                    format!("For comparison: {}", p.function)
                };
                plane(&format!("plane-{}", k + 1), &title, p, &rows.shown, &view.classes)
            };
            sheet.figures(view.planes.iter().enumerate().map(one).collect());
        }
    }
    pairs(&mut sheet, view);
    fit(&mut sheet, view);
    metric(&mut sheet, view);
    if let Some(rows) = view.rows.as_ref().filter(|rows| !rows.separation.is_empty()) {
        let intro = "How far classes are apart, in relation to how wide they are. Distances have no unit: compare ratios, not lengths.";
        sheet.section("margins", "Margins", intro);
        separation(&mut sheet, &rows.separation, view.own_certified.as_ref());
    }
    sheet.finish(about)
}

/// The map of a model's rows under its distance, as a file of its own: nothing of a model without rows.
#[must_use]
pub fn map_figure(view: &ModelView) -> Option<String> {
    let rows = view.rows.as_ref()?;
    let drawn = Drawn {
        map: rows.after.as_ref().unwrap_or(&rows.before),
        shown: &rows.shown,
        classes: &view.classes,
        pairs: rows.separation.last().map(|s| [s.margins.margin, s.margins.diameter]),
        radius: circle(rows.after.as_ref().unwrap_or(&rows.before)),
        direction: "direction",
    };
    let mut figure = map("map", &format!("{} under the distance of {}", view.source, view.method), &drawn);
    legend(&mut figure, view);
    Some(figure.file())
}

/// The classes below a map that stands alone.
fn legend(figure: &mut Figure, view: &ModelView) {
    use crate::figure::frame::{fitted, text, wide};
    use crate::figure::marks::point;
    let (mut x, mut y) = (18.0, figure.height + 8.0);
    for (k, class) in view.classes.iter().enumerate().take(24) {
        let name = fitted(&class.name, 180.0);
        let needs = wide(&name) + 32.0;
        if x > 18.0 && x + needs > figure.width {
            (x, y) = (18.0, y + 18.0);
        }
        figure.content.push(point(k, x, y - 4.0));
        figure.content.push(text(&name, x + 10.0, y, "strong"));
        x += needs;
    }
    figure.height = y + 12.0;
}

fn subtitle(view: &ModelView) -> String {
    let rows: usize = view.classes.iter().map(|c| c.rows).sum();
    if view.pairs.is_some() {
        return format!(
            "{} without labels, {}. Tells {}.",
            counted(rows, "row", "rows"),
            counted(view.features.len(), "feature", "features"),
            view.classifier
        );
    }
    format!(
        "{}, {}, {}. Predicts by {}.",
        counted(rows, "row", "rows"),
        counted(view.features.len(), "feature", "features"),
        counted(view.classes.len(), "class", "classes"),
        view.classifier
    )
}

fn glance(sheet: &mut Sheet, view: &ModelView) {
    let form = &view.form;
    let top: Vec<&str> = form.weights.iter().take(3).map(|(n, _)| n.as_str()).collect();
    let euclidean = view.rows.as_ref().is_some_and(|r| r.after.is_none());
    let learned = if euclidean {
        "The Euclidean distance was kept: nothing better was found, or it was asked for.".to_owned()
    } else {
        format!("A distance that counts {} most, in {}.", top.join(", "), counted(form.rank, "direction", "directions"))
    };
    sheet.glance("What was learned", &view.method, &learned);
    let majority = percent(view.majority);
    match &view.expected {
        Some(e) => {
            let band = format!("{} to {}", percent(e.band.0), percent(e.band.1));
            let how = match e.how {
                How::HeldOut => format!(
                    "Expected on new rows of the same kind, from {} held-out rows (95 % band {band}).",
                    count(e.rows)
                ),
                How::LeaveOneOut => format!(
                    "Each row predicted by the others (95 % band {band}). The distance has seen these rows: expect less on new ones."
                ),
                How::Pairs => format!(
                    "Of {} told rightly to be similar or not (95 % band {band}); the threshold was {}.",
                    counted(e.rows, "pair", "pairs"),
                    view.pairs.as_ref().map_or("", |p| &p.chosen)
                ),
                How::Training => format!("On its own training rows (95 % band {band}): expect less on new ones."),
                _ => format!("95 % band {band}."),
            };
            let always =
                if e.how == How::Pairs { "Always the more frequent answer" } else { "Always the largest class" };
            sheet.glance("How good", &percent(e.accuracy), &format!("{how} {always}: {majority}."));
        }
        None if view.pairs.is_some() => {
            sheet.glance("How good", "", "Not known: there is no threshold, as no pairs were given to choose it on.");
        }
        None => sheet.glance(
            "How good",
            "",
            &format!("Not known: the training rows are not in the model. Always the largest class: {majority}."),
        ),
    }
    let (figure, words) = sure(view);
    sheet.glance("How sure", &figure, &words);
    if let Some(rows) = &view.rows
        && let (Some(before), Some(after)) = (rows.separation.first(), rows.separation.last())
    {
        let (a, b) = (before.margins.ratio_intra, after.margins.ratio_intra);
        let figure = if rows.separation.len() > 1 { format!("{} → {}", short(a), short(b)) } else { short(a) };
        let suspects = rows.shown.relabelled.len();
        let mut words =
            "Margin over the sum of the class diameters, before and after: larger is better separated.".to_owned();
        if rows.separation.len() < 2 {
            words = "Margin over the sum of the class diameters: larger is better separated.".to_owned();
        }
        if rows.separation.len() > 1 && b < a {
            words += " It fell: single pairs were given up so that all other rows lie better (see the local ratios).";
        }
        if suspects > 0 {
            words += &format!(
                " {} a label that the function overrules.",
                if suspects == 1 { "1 row has".to_owned() } else { format!("{} rows have", count(suspects)) }
            );
        }
        sheet.glance("How separated", &figure, &words);
    }
}

/// The certificate in words.
fn sure(view: &ModelView) -> (String, String) {
    let e = &view.ending;
    match e.gap {
        Some(gap) => (
            format!("gap {}", short(gap)),
            format!(
                "Certified: no distance of this form can have an objective that is lower by more than {} of it. The fit ended: {}.",
                if gap < 1e-3 { short(gap) } else { percent(gap) },
                e.status
            ),
        ),
        None => (String::new(), format!("This fit has no certificate of its optimum. It ended: {}.", e.status)),
    }
}

/// How near the given pairs are, before and after.
fn pairs(sheet: &mut Sheet, view: &ModelView) {
    let Some(pairs) = &view.pairs else { return };
    if pairs.scores.is_none() && pairs.distances.is_empty() {
        return;
    }
    sheet.section("pairs", "Similar and dissimilar pairs", "");
    if let Some(scores) = &pairs.scores {
        let percents = [
            ("accuracy", scores.accuracy),
            ("precision: of those told similar, the share that is", scores.precision),
            ("recall: of the similar ones, the share told so", scores.recall),
            ("AUC: how often a similar pair is nearer than a dissimilar one", scores.auc),
        ];
        let mut rows = vec![("pairs", format!("{}, {} of them similar", count(scores.pairs), count(scores.similar)))];
        rows.extend(pairs.threshold.map(|t| ("threshold", format!("{} ({})", short(t), pairs.chosen))));
        rows.extend(percents.into_iter().filter_map(|(name, value)| Some((name, percent(value?)))));
        listed(sheet, &rows);
    }
    let one = |(k, side): (usize, &PairDistances)| {
        let (id, title) =
            [("pairs-before", "Distances of the pairs: Euclidean"), ("pairs-after", "Distances of the pairs: learned")]
                [k.min(1)];
        let figure = Figure::new(id, title, 460.0, 300.0).says(
            "The less the two curves overlap, the better the distance tells. The last step holds all distances beyond.",
        );
        let series = [
            Series::steps("similar", &side.similar.edges, &shares(&side.similar.counts), 0, 0),
            Series::steps("dissimilar", &side.dissimilar.edges, &shares(&side.dissimilar.counts), 1, 1),
        ];
        curves(figure, (&Along::new("distance / mean distance"), &Along::new("% of pairs")), &series, None)
    };
    if !pairs.distances.is_empty() {
        sheet.figures(pairs.distances.iter().enumerate().map(one).collect());
    }
}

fn fit(sheet: &mut Sheet, view: &ModelView) {
    let e = &view.ending;
    sheet.section("fit", "The fit", "");
    let mut rows = vec![("ended", e.status.clone())];
    for (name, value) in [("objective", e.objective), ("lower bound", e.bound)] {
        rows.extend(value.map(|v| (name, precise(v))));
    }
    for (name, value) in [("certified gap", e.gap), ("c", e.c), ("c_max", e.c_max)] {
        rows.extend(value.map(|v| (name, short(v))));
    }
    if e.iterations > 0 {
        rows.push(("iterations", count(e.iterations)));
    }
    listed(sheet, &rows);
    for note in &e.notes {
        sheet.push(el("p").class("warn").text(note));
    }
    let mut figures = Vec::new();
    if !view.tried.is_empty() {
        figures.push(tried(view));
    }
    let steps = &view.history.steps;
    if steps.len() > 1 {
        figures.push(course(
            "objective",
            "Objective and lower bound",
            steps,
            &[("objective", |s| s.objective), ("certified lower bound", |s| s.bound)],
            false,
        ));
        if steps.iter().any(|s| s.gap.is_some_and(|g| g > 0.0)) {
            figures.push(course("gap-steps", "Certified gap by step", steps, &[("relative gap", |s| s.gap)], false));
            figures.push(course("gap-seconds", "Certified gap by time", steps, &[("relative gap", |s| s.gap)], true));
        }
    }
    if !figures.is_empty() {
        sheet.figures(figures);
    }
}

type Reading = fn(&Step) -> Option<f64>;

/// Something by step, or by time.
fn course(id: &str, title: &str, steps: &[Step], lines: &[(&str, Reading)], timed: bool) -> Figure {
    let at = |s: &Step| if timed { s.seconds } else { s.iteration as f64 };
    let series: Vec<Series> = lines
        .iter()
        .enumerate()
        .map(|(k, (name, read))| {
            let points = steps.iter().filter_map(|s| Some((at(s), read(s)?))).collect();
            Series::new(*name, points, k, k)
        })
        .filter(|s| !s.points.is_empty())
        .collect();
    let values = series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    let (low, high) = crate::scale::extent(values.filter(|v| *v > 0.0));
    let log = series.iter().all(|s| s.points.iter().all(|p| p.1 >= 0.0)) && low > 0.0 && high / low > 50.0;
    let up = if log { Along::new("logarithmic").log() } else { Along::new("") };
    let says = if lines.len() > 1 {
        "The objective of the best distance so far, and the bound below which none can be."
    } else {
        "How much of the objective could still be saved at most."
    };
    let across = Along::new(if timed { "seconds" } else { "step" });
    curves(Figure::new(id, title, 460.0, 290.0).says(says), (&across, &up), &series, None)
}

fn tried(view: &ModelView) -> Figure {
    let least = view.tried.iter().map(|t| t.accuracy).fold(view.majority, f64::min);
    let from = ((least - 0.02) * 20.0).floor().max(0.0) / 20.0;
    let one = |t: &lipmetric::view::Tried| Bar {
        name: t.what.clone(),
        value: t.accuracy,
        shown: percent(t.accuracy) + if t.chosen { " chosen" } else { "" },
        strong: t.chosen,
    };
    let all: Vec<Bar> = view.tried.iter().map(one).collect();
    let figure = Figure::new("tried", "What was tried", 640.0, 300.0)
        .says("Accuracy on held-out rows of the best of what was tried. A simpler one is kept unless another is better by more than one standard error.")
        .wide();
    bars(figure, from, &format!("accuracy, from {} on", percent(from)), &all, ["distance and prediction", "accuracy"])
}

fn metric(sheet: &mut Sheet, view: &ModelView) {
    let form = &view.form;
    let intro = format!(
        "The distance is (x − y)ᵀ M (x − y) on the prepared features. Its effective rank is {} of {}: as many equal directions would be as evenly spread.",
        short(form.effective_rank),
        count(form.heat.of)
    );
    sheet.section("metric", "The metric", &intro);
    let says = "Long columns are directions that the distance sees well; what has none is ignored.";
    let spectrum = Figure::new("spectrum", "Spectrum: eigenvalues of M", 460.0, 300.0).says(says);
    let heated = form.heat.names.len();
    let mut matrix = Figure::new("matrix", "The matrix M", 460.0, 400.0).says(
        "On the diagonal a feature's own weight; off it, how two features count together: blue adds, orange takes off.",
    );
    if heated < form.heat.of {
        matrix = matrix.note(format!("The {heated} features of the largest weight, of {}.", count(form.heat.of)));
    }
    sheet.figures(vec![
        columns(spectrum, ("direction", "eigenvalue"), &form.spectrum),
        heat(matrix, &form.heat.names, &form.heat.values),
        weights(view),
    ]);
    if let Some(more) = more_weights(view) {
        sheet.push(more);
    }
    if !view.support.is_empty() {
        sheet.push(support(view));
    }
}

fn weights(view: &ModelView) -> Figure {
    let one = |(name, w): &(String, f64)| Bar { name: name.clone(), value: *w, shown: short(*w), strong: true };
    let all: Vec<Bar> = view.form.weights.iter().take(TOP).map(one).collect();
    let figure = Figure::new("weights", "Features by weight", 640.0, 300.0)
        .says("The diagonal of M: how much a feature counts by itself, on the prepared (scaled) columns.")
        .wide();
    bars(figure, 0.0, "", &all, ["feature", "weight"])
}

fn more_weights(view: &ModelView) -> Option<Element> {
    let rest = view.form.weights.get(TOP..).filter(|r| !r.is_empty())?;
    let mut table = Table::new(["feature", "weight"]);
    for (name, weight) in rest.iter().take(2000) {
        table.row([name.clone(), short(*weight)]);
    }
    let summary = el("summary").text(format!("The other {} features by weight", count(rest.len())));
    Some(el("details").with(summary).with(el("div").class("scroll").with(table.element())))
}

/// `lines 3 and 7`, where both are lines.
fn both([first, second]: &[String; 2]) -> String {
    match (first.split_once(' '), second.split_once(' ')) {
        (Some((kind, a)), Some((same, b))) if kind == same => format!("{kind}s {a} and {b}"),
        _ => format!("{first} and {second}"),
    }
}

/// The pairs of rows that determine the optimum.
fn support(view: &ModelView) -> Element {
    let mut table = Table::new(["rows", "classes", "sets the", "multiplier", "Euclidean", "learned"]);
    table.head.extend(view.support_features.iter().cloned());
    let class = |k: u32| view.classes.get(k as usize).map_or("?", |c| c.name.as_str());
    let value = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), short);
    for s in &view.support {
        let SupportView { places, labels, multiplier, before, after, values, .. } = s;
        let role = if s.pushes { "margin" } else { "diameter" };
        let mut row = vec![
            both(places),
            format!("{}, {}", class(labels[0]), class(labels[1])),
            role.to_owned(),
            short(*multiplier),
            short(*before),
            short(*after),
        ];
        row.extend(
            (0..view.support_features.len()).map(|j| format!("{} | {}", value(values[0][j]), value(values[1][j]))),
        );
        table.row(row);
    }
    let shown = view.support.len();
    let which = if shown < view.support_of {
        format!("The first {shown} of {}", count(view.support_of))
    } else {
        "All".to_owned()
    };
    let words = format!(
        "{which}, by multiplier. The optimum rests on these pairs: those of different classes at the margin, and the longest. Values of the two rows stand side by side."
    );
    el("div")
        .class("tablecard")
        .set("id", "support")
        .with(el("h3").text("Support pairs"))
        .with(el("p").class("intro").text(words))
        .with(
            el("div")
                .class("scroll")
                .set("tabindex", 0)
                .set("role", "region")
                .set("aria-label", "Support pairs")
                .with(table.element()),
        )
}
