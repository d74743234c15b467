//! Pages with pictures: what is in them, and that nothing of the data becomes markup.

use super::common::Room;

fn page(room: &Room, name: &str) -> String {
    String::from_utf8(room.read(name)).unwrap()
}

/// Every figure of a page that is drawn must be there.
fn figures(page: &str, ids: &[&str]) {
    for id in ids {
        assert!(page.contains(&format!("<figure id=\"{id}\"")), "no figure {id}");
    }
    assert!(!page.contains("NaN") && page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    // The name of SVG's namespace is no address that anything is fetched from.
    let rest = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!rest.contains("http://") && !rest.contains("https://"), "the page needs nothing from elsewhere");
}

#[test]
fn a_fit_has_a_page_and_its_model_is_the_same_without() {
    let room = Room::new();
    let fit = ["fit", "--data", "cancer", "--method", "lip-i", "--c-rel", "0.1", "--model"];
    room.ok(&[&fit[..], &["plain.lip"]].concat());
    room.ok(&[&fit[..], &["m.lip", "--report", "fit.html", "--plots", "plots"]].concat());
    assert_eq!(room.read("plain.lip"), room.read("m.lip"), "a page changes no model");
    let text = page(&room, "fit.html");
    figures(
        &text,
        &[
            "before",
            "after",
            "objective",
            "gap-steps",
            "gap-seconds",
            "spectrum",
            "matrix",
            "weights",
            "local",
            "certified",
        ],
    );
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    assert!(text.contains("lipmetric evaluate --data cancer --method lip-i --c-rel 0.1 --folds 10"));
    assert!(text.contains("Support pairs") && text.contains("Certified: no distance of this form"));
    for name in ["after.svg", "weights.svg"] {
        let svg = String::from_utf8(room.read(&format!("plots/{name}"))).unwrap();
        assert!(svg.starts_with("<?xml") && svg.contains("xmlns=\"http://www.w3.org/2000/svg\""), "{name}");
    }
    room.ok(&["inspect", "m.lip", "--report", "inspect.html"]);
    figures(&page(&room, "inspect.html"), &["before", "after", "spectrum", "local"]);
}

#[test]
fn the_same_fit_gives_the_same_page_for_any_number_of_threads() {
    let room = Room::new();
    for threads in ["1", "2"] {
        let name = format!("{threads}.html");
        room.ok(&["margins", "--data", "haberman", "--report", &name, "--threads", threads]);
    }
    assert_eq!(room.read("1.html"), room.read("2.html"));
}

#[test]
fn every_command_with_a_page_writes_one() {
    let room = Room::new();
    room.ok(&["compare", "echo", "fertility", "--methods", "nn,lip-i", "--repeats", "3", "--report", "compare.html"]);
    figures(&page(&room, "compare.html"), &["critical-difference", "splits-1", "splits-2"]);
    room.ok(&["path", "--data", "echo", "--points", "4", "--least", "0.01", "--report", "path.html"]);
    figures(&page(&room, "path.html"), &["accuracy", "objective", "ratios", "rank", "support"]);
    assert!(page(&room, "path.html").contains(">chosen<"));
    room.ok(&["margins", "--data", "haberman", "--report", "margins.html"]);
    figures(&page(&room, "margins.html"), &["before", "local", "distances-before", "certified"]);
    room.ok(&["evaluate", "--data", "echo", "--method", "nn", "--k", "5", "--folds", "3", "--report", "judged.html"]);
    figures(&page(&room, "judged.html"), &["confusion", "reliability", "splits"]);
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "m.lip"]);
    room.ok(&["evaluate", "--data", "echo", "--model", "m.lip", "--report", "model.html"]);
    figures(&page(&room, "model.html"), &["confusion", "certified"]);
    assert!(page(&room, "model.html").contains("are training rows of the model"));
}

#[test]
fn names_and_labels_that_are_markup_are_text() {
    let room = Room::new();
    let mut table = "\"<script>alert(1)</script>\",\"a\"\"b' & c\",label\n".to_owned();
    for i in 0..30 {
        let label = ["<img src=x onerror=alert(2)>", "😀 שלום"][i % 2];
        table += &format!("{},{},{label}\n", (i * 7 % 11) as f64 + (i % 2) as f64 * 8.0, i * 5 % 13);
    }
    room.write("t.csv", table);
    room.ok(&[
        "fit",
        "t.csv",
        "--method",
        "lip-i",
        "--classifier",
        "extension",
        "--report",
        "t.html",
        "--plots",
        "plots",
    ]);
    let text = page(&room, "t.html");
    figures(&text, &["plane-1", "plane-2", "after"]);
    assert!(!text.contains("<script>alert") && !text.contains("<img"), "markup came in");
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && text.contains("😀 שלום"));
    assert!(!String::from_utf8(room.read("plots/weights.svg")).unwrap().contains("<script>"));
}

#[test]
fn what_cannot_be_written_is_found_before_the_work() {
    let room = Room::new();
    room.ok(&["datasets", "export", "echo", "-o", "echo.csv"]);
    assert!(room.fails(2, &["fit", "echo.csv", "--report", "echo.csv"]).contains("would be overwritten"));
    assert!(room.fails(2, &["fit", "echo.csv", "--report", "-"]).contains("name one"));
    assert!(room.fails(2, &["fit", "echo.csv", "--plots", "echo.csv"]).contains("is a file"));
    let nowhere = room.run(&["fit", "echo.csv", "--report", "no/where.html"]);
    assert!(!nowhere.status.success() && nowhere.stdout.is_empty());
    assert_eq!(room.names(), ["echo.csv"]);
}

#[test]
fn rows_are_drawn_on_a_quick_map_with_and_without_labels() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--method", "lip-i", "--model", "h.lip"]);
    room.ok(&["plot", "h.lip", "--data", "haberman", "-o", "map.svg"]);
    let map = page(&room, "map.svg");
    assert_eq!(map.matches("<use ").count(), 306 + 2, "a mark for each row, and for each class");
    let first = room.ok(&["datasets", "export", "haberman"]);
    let header = first.lines().next().unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    let rows: Vec<String> =
        first.lines().take(12).map(|l| l.split(',').take(columns.len() - 1).collect::<Vec<_>>().join(",")).collect();
    room.write("new.csv", rows.join("\n") + "\n");
    let out = room.run(&["plot", "h.lip", "new.csv", "-o", "new.svg"]);
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success() && told.contains("predicted class"), "{told}");
    // Rows of one class have no margin, and are drawn all the same.
    room.write("one.csv", rows.iter().take(2).cloned().collect::<Vec<_>>().join("\n") + "\n");
    let out = room.run(&["plot", "h.lip", "one.csv", "-o", "one.svg"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(!String::from_utf8(room.read("one.svg")).unwrap().contains("margin"));
}

#[test]
fn two_coordinates_keep_the_distances_that_they_can() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--method", "lip-d", "--model", "h.lip"]);
    let read = |text: String| -> Vec<Vec<f64>> {
        text.lines().skip(1).map(|l| l.split(',').map(|c| c.parse().unwrap()).collect()).collect()
    };
    let all = read(room.ok(&["transform", "--model", "h.lip", "--data", "haberman"]));
    let rank = all[0].len();
    let whole = read(room.ok(&["transform", "--model", "h.lip", "--data", "haberman", "--dims", &rank.to_string()]));
    let one = read(room.ok(&["transform", "--model", "h.lip", "--data", "haberman", "--dims", "1"]));
    let apart = |rows: &[Vec<f64>], i: usize, j: usize| {
        rows[i].iter().zip(&rows[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    for (i, j) in [(0, 1), (5, 200), (17, 300)] {
        let (d, e, f) = (apart(&all, i, j), apart(&whole, i, j), apart(&one, i, j));
        assert!((d - e).abs() <= 1e-9 * (1.0 + d), "{d} and {e}");
        assert!(f <= d * (1.0 + 1e-9) && one[0].len() == 1);
    }
    assert!(
        room.fails(2, &["transform", "--model", "h.lip", "--data", "haberman", "--dims", "99"]).contains("give 1 to")
    );
}

#[test]
fn pictures_are_png_where_the_program_was_built_with_it() {
    let room = Room::new();
    let drawn = ["margins", "--data", "echo", "--plots", "pixels", "--plot-format", "png"];
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "e.lip"]);
    let plot = ["plot", "e.lip", "--data", "echo", "-o", "map.png"];
    if cfg!(feature = "png") {
        room.ok(&drawn);
        room.ok(&plot);
        for name in ["pixels/before.png", "pixels/local.png", "map.png"] {
            assert!(room.read(name).starts_with(b"\x89PNG"), "{name}");
        }
    } else {
        for (typed, option) in [(&drawn[..], "--plot-format"), (&plot[..], "--output")] {
            let told = room.fails(2, typed);
            assert!(told.contains(option) && told.contains("--features png"), "{told}");
        }
    }
    assert!(room.fails(2, &["margins", "--data", "echo", "--plot-format", "svg"]).contains("--plots"));
}
