use super::rows::{about_maps, listed, maps, separation};
use super::{About, Page, Sheet};
use crate::number::{count, counted, short};
use lipmetric::Labels;
use lipmetric::lipschitz::Report;
use lipmetric::view::{ClassView, RowsView};

/// What the page about margins is made from.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MarginsPage {
    /// Where the rows come from.
    pub source: String,
    /// The distance, in words.
    pub distance: String,
    /// The classes.
    pub classes: Vec<ClassView>,
    /// The rows under the Euclidean distance and, where it is another one, under this distance.
    pub rows: RowsView,
    /// Names and values: the doubling dimension, bounds.
    pub bounds: Vec<(String, String)>,
}

impl MarginsPage {
    /// Of labelled rows under a distance, and of what was measured of them.
    #[must_use]
    pub fn of(
        source: impl Into<String>,
        distance: impl Into<String>,
        y: &Labels,
        rows: RowsView,
        report: &Report,
    ) -> Self {
        let d = &report.doubling;
        let mut bounds =
            vec![("doubling dimension, estimated".to_owned(), format!("{} to {}", short(d.lower), short(d.upper)))];
        if let Some(b) = &report.bounds {
            bounds.push(("bound on the error, by the diameter".to_owned(), b.diameter.best().to_string()));
            bounds.push(("bound on the error, by the class diameters".to_owned(), b.intra.best().to_string()));
        }
        Self { source: source.into(), distance: distance.into(), classes: ClassView::of(y), rows, bounds }
    }
}

/// The page about the margins of labelled rows.
#[must_use]
pub fn margins_page(view: &MarginsPage, about: &About) -> Page {
    let shown = &view.rows.shown;
    let subtitle = format!(
        "{} of {}, under {}.",
        counted(shown.of, "row", "rows"),
        counted(view.classes.len(), "class", "classes"),
        view.distance
    );
    let mut sheet = Sheet::new(format!("How far the classes of {} are apart", view.source), subtitle);
    if let Some(side) = view.rows.separation.last() {
        let m = &side.margins;
        sheet.glance(
            "Margin / diameter",
            &short(m.ratio_diameter),
            "The nearest rows of different classes, in relation to the farthest rows.",
        );
        sheet.glance(
            "Margin / class diameters",
            &short(m.ratio_intra),
            "The same in relation to how wide the classes are: larger is better separated.",
        );
        let words = "Half of the rows lie better separated from the nearest row of another class, half worse (0 to 1).";
        sheet.glance("Median local ratio", &short(side.local_median), words);
        let wrong = side.certified.y.first().map_or(0.0, |y| 1.0 - y);
        let words =
            format!("Of {} rows so many are as near to another class as to their own, or nearer.", count(side.counted));
        sheet.glance("Mixed", &crate::number::percent(wrong), &words);
    }
    sheet.section("data", "The rows", &about_maps(shown.rows.len(), shown.of, &view.rows.before));
    maps(&mut sheet, &view.rows, &view.classes);
    sheet.section("margins", "Margins", "How far classes are apart, in relation to how wide they are.");
    separation(&mut sheet, &view.rows.separation, None);
    if !view.bounds.is_empty() {
        sheet.section("bounds", "Bounds", "What the theory promises of new rows from these figures alone.");
        let rows: Vec<(&str, String)> = view.bounds.iter().map(|(n, v)| (n.as_str(), v.clone())).collect();
        listed(&mut sheet, &rows);
    }
    sheet.finish(about)
}
