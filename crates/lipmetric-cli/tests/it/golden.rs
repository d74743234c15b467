//! The golden file: what every method gave when its figures were last reviewed.
//!
//! Each case fits a model with the program, every parameter given, and predicts with it. Status, objective, bound, gap,
//! iterations, accuracy and the means of what `predict` prints are compared with the file on any machine, within the
//! tolerances below. On a machine that computes like the one that the file was made on ([`machine`]), everything must be the
//! same to the last bit, the factor and the predictions by their hashes.
//!
//! The file is made with one thread and checked with two, since results must not depend on that.
//! `LIPMETRIC_GOLDEN=rewrite cargo test -p lipmetric-cli --test it golden` writes it anew; read the difference before you commit it.

use crate::common::Room;
use lipmetric_io::model::load_model;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What a case gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Figures {
    /// The program's exit code: 4 where the fit ended early, 2 where it was refused.
    exit: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<Fit>,
}

/// The figures of a fit and its predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Fit {
    status: String,
    objective: Option<f64>,
    bound: Option<f64>,
    gap: Option<f64>,
    c: Option<f64>,
    iterations: f64,
    rank: f64,
    k: f64,
    /// Hash of the factor `L`.
    factor: String,
    /// Hash of the predicted classes.
    predictions: String,
    accuracy: f64,
    /// The mean of each column of numbers that `predict` adds.
    means: BTreeMap<String, f64>,
}

/// A group of cases, one file of figures.
#[derive(Serialize, Deserialize)]
struct Golden {
    machine: String,
    cases: BTreeMap<String, Figures>,
}

/// The rows of a case: files to fit on and to predict.
struct Rows {
    train: String,
    test: String,
}

struct Case {
    name: String,
    rows: usize,
    fit: Vec<String>,
    predict: &'static [&'static str],
    /// How far the objective may be from the file's, relatively: what the stopping rule leaves open.
    within: f64,
}

/// Figures of the model that follow from the factor, which the objective determines less sharply.
const MEANS_WITHIN: f64 = 0.05;
/// Rows near a border between classes may change sides.
const ACCURACY_WITHIN: f64 = 0.03;
/// Objectives below this are compared with it: chances of a wrong neighbour, for one, may all but vanish.
const SMALL: f64 = 0.1;
/// Steps of another machine: this part of them, and a few more.
const ITERATIONS_WITHIN: (f64, f64) = (0.25, 3.0);

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// FNV-1a, 64 bits.
fn hash(bytes: impl IntoIterator<Item = u8>) -> String {
    let mix = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// What last digits depend on: the instruction set, for which the kernels of the matrix products are chosen at run time,
/// and the caches, by which these cut their loops.
fn machine() -> String {
    #[cfg(target_arch = "x86_64")]
    let set = match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx2")) {
        (true, _) => "avx512",
        (_, true) => "avx2",
        _ => "sse2",
    };
    #[cfg(not(target_arch = "x86_64"))]
    let set = "plain";
    let cache = |index: usize| {
        let file = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        std::fs::read_to_string(file).map_or_else(|_| "?".to_owned(), |size| size.trim().to_owned())
    };
    let caches: Vec<String> = [0, 2, 3].map(cache).to_vec();
    format!("{} {} {set}, caches {}", std::env::consts::ARCH, std::env::consts::OS, caches.join(" "))
}

/// The column of a plain CSV text.
fn column<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = text.lines();
    let at = lines.next().and_then(|head| head.split(',').position(|h| h == name)).expect("the column");
    lines.map(|line| line.split(',').nth(at).expect("a cell")).collect()
}

fn run(room: &Room, rows: &Rows, case: &Case, threads: &str) -> Figures {
    let mut args = vec!["fit", &rows.train, "--label", "label", "--fill", "median", "--weights", "uniform"];
    args.extend(case.fit.iter().map(String::as_str));
    let model = format!("{}.lip", hash(case.name.bytes()));
    args.extend(["--json", "--model", &model, "--threads", threads]);
    let out = room.run(&args);
    let exit = out.status.code().expect("an exit code");
    let error = String::from_utf8_lossy(&out.stderr);
    // A trade-off at which the zero metric is best is refused; every other refusal is a mistake in the options.
    if exit == 2 && error.contains("c_max") {
        return Figures { exit, fit: None };
    }
    assert!(exit == 0 || exit == 4, "{}: exit code {exit}: {error}", case.name);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let factor = load_model(room.path(&model).as_path()).expect("the model").model.metric.factor().clone();
    let sizes = [factor.rows() as u64, factor.cols() as u64];
    // Adding zero takes the sign off a zero, which means nothing.
    let entries = factor.as_slice().iter().map(|v| (v + 0.0).to_bits());
    let factor = hash(sizes.into_iter().chain(entries).flat_map(u64::to_le_bytes));
    let mut args = vec!["predict", &rows.test, "--model", &model, "--threads", threads];
    args.extend(case.predict);
    let printed = room.ok(&args);
    let predictions = column(&printed, "prediction");
    let truth = std::fs::read_to_string(room.path(&rows.test)).expect("the rows");
    let truth = column(&truth, "label");
    assert_eq!(predictions.len(), truth.len(), "{}", case.name);
    let right = predictions.iter().zip(&truth).filter(|(p, t)| p == t).count();
    let head = printed.lines().next().unwrap_or_default();
    let numbers = head.split(',').filter(|h| *h != "prediction" && *h != "label");
    let means = numbers.map(|name| {
        let values: Vec<f64> = column(&printed, name).iter().map(|v| v.parse().expect("a number")).collect();
        let finite: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        (name.to_owned(), finite.iter().sum::<f64>() / finite.len().max(1) as f64)
    });
    let number = |name: &str| report[name].as_f64();
    Figures {
        exit,
        fit: Some(Fit {
            status: report["status"].as_str().expect("a status").to_owned(),
            objective: number("objective"),
            bound: number("dual"),
            gap: number("gap"),
            c: number("c"),
            iterations: number("iterations").expect("a number"),
            rank: number("rank").expect("a number"),
            k: number("k").expect("a number"),
            factor,
            predictions: hash(predictions.join("\n").bytes()),
            accuracy: right as f64 / truth.len() as f64,
            means: means.collect(),
        }),
    }
}

/// What is wrong with `found`, on any machine.
fn far(case: &Case, found: &Figures, golden: &Figures) -> Vec<String> {
    let mut wrong = Vec::new();
    if found.exit != golden.exit {
        wrong.push(format!("exit code {} instead of {}", found.exit, golden.exit));
    }
    let (Some(f), Some(g)) = (&found.fit, &golden.fit) else { return wrong };
    if f.status != g.status {
        wrong.push(format!("{} instead of {}", f.status, g.status));
    }
    let mut near = |name: &str, f: Option<f64>, g: Option<f64>, most: f64| match (f, g) {
        (Some(f), Some(g)) if (f - g).abs() <= most => {}
        (None, None) => {}
        _ => wrong.push(format!("{name} {f:?} instead of {g:?}, more than {most:e} apart")),
    };
    let scale = g.objective.map_or(0.0, |v| v.abs().max(SMALL));
    near("objective", f.objective, g.objective, case.within * scale);
    near("bound", f.bound, g.bound, case.within * scale);
    near("gap", f.gap, g.gap, case.within);
    near("c", f.c, g.c, case.within * g.c.unwrap_or(0.0));
    near("k", Some(f.k), Some(g.k), 0.0);
    let (part, more) = ITERATIONS_WITHIN;
    near("iterations", Some(f.iterations), Some(g.iterations), part * g.iterations + more);
    near("accuracy", Some(f.accuracy), Some(g.accuracy), ACCURACY_WITHIN);
    for (name, &g) in &g.means {
        let most = if name.starts_with("proba:") { ACCURACY_WITHIN } else { MEANS_WITHIN * g.abs().max(1e-9) };
        near(name, f.means.get(name).copied(), Some(g), most);
    }
    wrong
}

fn path(group: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", &format!("{group}.json")].iter().collect()
}

/// One case a line, so that a difference can be read.
fn write(group: &str, golden: &Golden) {
    let mut text = format!("{{\"machine\": {:?},\n \"cases\": {{", golden.machine);
    for (at, (name, figures)) in golden.cases.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let line = serde_json::to_string(figures).expect("JSON");
        write!(text, "{comma}\n  {name:?}: {line}").expect("text");
    }
    text += "\n }}\n";
    std::fs::write(path(group), text).expect("the golden file");
}

fn check(group: &str, room: &Room, rows: &[Rows], cases: &[Case]) {
    let rewrite = std::env::var("LIPMETRIC_GOLDEN").is_ok_and(|v| v == "rewrite");
    let threads = if rewrite { "1" } else { "2" };
    let figures = |case: &Case| (case.name.clone(), run(room, &rows[case.rows], case, threads));
    let found = Golden { machine: machine(), cases: cases.iter().map(figures).collect() };
    assert_eq!(found.cases.len(), cases.len(), "every case has a name of its own");
    if rewrite {
        return write(group, &found);
    }
    let text = std::fs::read_to_string(path(group)).expect("the golden file");
    let golden: Golden = serde_json::from_str(&text).expect("the golden file's JSON");
    let same_machine = golden.machine == found.machine;
    let mut wrong = String::new();
    for case in cases {
        let (f, Some(g)) = (&found.cases[&case.name], golden.cases.get(&case.name)) else {
            writeln!(wrong, "{}: not in the file", case.name).expect("text");
            continue;
        };
        for what in far(case, f, g) {
            writeln!(wrong, "{}: {what}", case.name).expect("text");
        }
        if same_machine && f != g {
            writeln!(wrong, "{}: other bits\n  found {f:?}\n  file  {g:?}", case.name).expect("text");
        }
    }
    for name in golden.cases.keys().filter(|name| !found.cases.contains_key(*name)) {
        writeln!(wrong, "{name}: in the file, but no longer a case").expect("text");
    }
    assert!(wrong.is_empty(), "{group} (made on {}, this is {}):\n{wrong}", golden.machine, found.machine);
}

/// The reference problems, c = 1, by every solver and slack.
fn reference(room: &Room, group: &str, sets: &[&str]) {
    let solvers = [
        ("exact-pair", "--solver exact --slack pair --tol 1e-6 --max-iter 500", 2e-6),
        ("exact-instance", "--solver exact --slack instance --tol 1e-4 --max-iter 500", 2e-4),
        ("augmented-pair", "--solver augmented --slack pair --tol 1e-3 --max-iter 100000", 2e-3),
        ("admm-pair", "--solver admm --slack pair --tol 1e-2 --max-iter 600", 2e-2),
        ("paper-pair", "--solver paper --slack pair --mu 1 --tol 1e-3 --max-iter 10", 1e-6),
    ];
    let (mut rows, mut cases) = (Vec::new(), Vec::new());
    for (at, set) in sets.iter().enumerate() {
        let file = format!("{}/../lipmetric/tests/data/lip/{set}.csv", env!("CARGO_MANIFEST_DIR"));
        rows.push(Rows { train: file.clone(), test: file });
        for method in ["lip-d", "lip-i"] {
            for (name, options, within) in solvers {
                let fit = words(&format!("--method {method} --c 1 --scale none --k 5 {options}"));
                let name = format!("{set} {method} {name}");
                cases.push(Case { name, rows: at, fit, predict: &[], within });
            }
        }
    }
    check(group, room, &rows, &cases);
}

#[test]
fn the_smaller_reference_problems_give_what_the_golden_file_says() {
    reference(&Room::new(), "reference_small", &["echo", "fertility", "haberman", "voting"]);
}

#[test]
fn the_larger_reference_problems_give_what_the_golden_file_says() {
    reference(&Room::new(), "reference_large", &["australian", "cancer", "diabetes"]);
}

/// Every other row of a bundled set, and the rest to predict.
fn halves(room: &Room, set: &str) -> Rows {
    let text = room.ok(&["datasets", "export", set]);
    let (head, body) = text.split_once('\n').expect("a line of names");
    let half = |odd: usize| -> String {
        let lines = body.lines().enumerate().filter(|(at, _)| at % 2 == odd).map(|(_, line)| line);
        std::iter::once(head).chain(lines).flat_map(|line| [line, "\n"]).collect()
    };
    let rows = Rows { train: format!("{set}-train.csv"), test: format!("{set}-test.csv") };
    room.write(&rows.train, half(0));
    room.write(&rows.test, half(1));
    rows
}

#[test]
fn every_method_gives_what_the_golden_file_says() {
    let room = Room::new();
    let sets = ["echo", "fertility"];
    let methods = [
        ("auto", "auto --k auto", 1e-9),
        ("euclidean", "euclidean --k 1", 1e-9),
        ("lip", "lip --slack instance --c auto --diameter max --solver exact --k auto --tol 1e-4 --max-iter 200", 2e-4),
        (
            "lip-d",
            "lip-d --slack instance --c-rel 0.1 --diameter max --solver auto --k 1 --tol 1e-6 --max-iter 500",
            2e-6,
        ),
        (
            "lip-i",
            "lip-i --slack instance --c-rel 0.1 --diameter max --solver auto --k 1 --tol 1e-6 --max-iter 500",
            2e-6,
        ),
        ("lip-local", "lip-local --c-rel 0.2 --tol 1e-2 --max-iter 1000 --k 3", 2e-2),
        ("lmnn", "lmnn --targets 3 --push 0.5 --slack pair --init auto --tol 1e-3 --max-iter 2000 --k 3", 2e-3),
        (
            "lmnn-row",
            "lmnn --targets 2 --push 0.8 --slack instance --init identity --tol 1e-3 --max-iter 2000 --k 3",
            2e-3,
        ),
        (
            "lmnn-low",
            "lmnn --targets 3 --push 0.5 --slack pair --n-components 2 --init pca --tol 1e-3 --max-iter 300 --k 3",
            1e-2,
        ),
        ("lmml", "lmml --alpha 1 --init auto --tol 1e-3 --max-iter 20000 --k 3", 2e-3),
        ("nca", "nca --init auto --tol 1e-5 --max-iter 200 --k 3", 1e-2),
        ("nca-low", "nca --n-components 2 --init lda --tol 1e-5 --max-iter 200 --k 3", 1e-2),
        ("nca-log", "nca --loss log --penalty 0.3 --init auto --tol 1e-5 --max-iter 200 --k 3", 1e-2),
        ("mcml", "mcml --init auto --tol 1e-3 --max-iter 2000 --k 3", 2e-3),
        ("agop", "agop --k 3", 1e-6),
        ("discriminant", "discriminant --k 3", 1e-6),
        ("lip-pairs", "lip-pairs --c-rel 0.2 --diameter mean --tol 1e-4 --max-iter 2000 --k 3", 2e-4),
        ("lip-pairs-max", "lip-pairs --c-rel 0.2 --diameter max --tol 1e-4 --max-iter 2000 --k 3", 2e-4),
        ("itml", "itml --tol 1e-3 --max-iter 1000 --k 3", 1e-2),
        ("mcml-low", "mcml --n-components 2 --init random:7 --tol 1e-3 --max-iter 200 --k 3", 1e-2),
    ];
    let rows: Vec<Rows> = sets.iter().map(|set| halves(&room, set)).collect();
    let mut cases = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        for (name, options, within) in methods {
            let fit = words(&format!("--scale standard --method {options}"));
            let radius = options.contains("--k 1 ") || options.ends_with("--k 1");
            let predict: &[&str] = if radius {
                &["--proba", "--distance", "--margin", "--radius"]
            } else {
                &["--proba", "--distance", "--margin"]
            };
            cases.push(Case { name: format!("{set} {name}"), rows: at, fit, predict, within });
        }
    }
    check("methods", &room, &rows, &cases);
}

/// Two hundred rows of four features, and a number that depends on two of them.
fn numbers(rows: usize, seed: u64) -> String {
    let mut text = "a,b,c,d,label\n".to_owned();
    let mut state = seed;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for _ in 0..rows {
        let [a, b, c, d] = [unit(), unit(), unit(), unit()].map(|v| (v * 1e6).round() / 1e6);
        let value = ((3.0 * a * a + b + 0.1 * unit()) * 1e6).round() / 1e6;
        writeln!(text, "{a},{b},{c},{d},{value}").expect("text");
    }
    text
}

#[test]
fn what_learns_from_numbers_gives_what_the_golden_file_says() {
    let room = Room::new();
    room.write("train.csv", numbers(200, 1));
    room.write("test.csv", numbers(80, 2));
    let rows = [Rows { train: "train.csv".to_owned(), test: "test.csv".to_owned() }];
    let methods = [
        ("mlkr", "mlkr --init auto --tol 1e-5 --max-iter 200 --k 5", 1e-2),
        ("mlkr-low", "mlkr --n-components 2 --init pca --tol 1e-5 --max-iter 200 --k 5", 1e-2),
        ("agop", "agop --k 5", 1e-6),
        ("euclidean", "euclidean --k 5", 1e-9),
    ];
    let case = |(name, options, within): (&str, &str, f64)| {
        let fit = words(&format!("--scale standard --task regression --method {options}"));
        Case { name: name.to_owned(), rows: 0, fit, predict: &["--within", "0.1", "--distance"], within }
    };
    check("numbers", &room, &rows, &methods.map(case));
}

#[test]
fn every_form_of_lip_gives_what_the_golden_file_says() {
    let room = Room::new();
    let forms = [
        ("cvar", "--slack pair --diameter cvar:0.1 --c-rel 0.1"),
        ("cvar-instance", "--slack instance --diameter cvar:0.3 --c-rel 0.1"),
        ("mean", "--slack pair --diameter mean --c-rel 0.1"),
        ("mean-instance", "--slack instance --diameter mean --c-rel 0.05"),
        ("anchor-euclid", "--slack pair --diameter max --anchor euclid --anchor-weight 0.1 --c-rel 0.1"),
        ("anchor-within", "--slack instance --diameter max --anchor within --anchor-weight 1 --c-rel 0.1"),
        ("balanced", "--slack pair --diameter max --balanced --c-rel 0.1"),
        ("instance-c-max", "--slack instance --diameter max --c-rel 0.9"),
    ];
    let rows = [halves(&room, "echo"), halves(&room, "fertility")];
    let mut cases = Vec::new();
    for (at, set) in ["echo", "fertility"].iter().enumerate() {
        for method in ["lip-d", "lip-i"] {
            for (name, options) in forms {
                let common = "--scale minmax --solver exact --tol 1e-6 --max-iter 500 --k 3";
                let fit = words(&format!("--method {method} {common} {options}"));
                let predict = &["--proba", "--distance", "--margin"];
                cases.push(Case { name: format!("{set} {method} {name}"), rows: at, fit, predict, within: 2e-6 });
            }
        }
    }
    check("forms", &room, &rows, &cases);
}

/// Classes of these sizes, each around a centre of its own, as a CSV text of six digits (so that it is the same anywhere).
fn blobs(sizes: &[usize], features: usize, seed: u64) -> String {
    let mut state = seed;
    let mut unit = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text: String = (0..features).map(|k| format!("x{k},")).collect();
    text += "label\n";
    let mut rows = Vec::new();
    for (class, &size) in sizes.iter().enumerate() {
        let centre: Vec<f64> = (0..features).map(|_| 2.0 * unit()).collect();
        for _ in 0..size {
            let row: String = centre.iter().map(|c| format!("{:.6},", c + unit() + unit() + unit())).collect();
            rows.push((unit(), format!("{row}c{class}\n")));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    text.extend(rows.into_iter().map(|row| row.1));
    text
}

/// Many rows and several classes, some of them small, and more features than a Newton matrix takes: passes over many
/// blocks of pairs, and the ways that large problems are solved.
#[test]
fn large_tables_give_what_the_golden_file_says() {
    let room = Room::new();
    let tables = [
        ("many", blobs(&[900, 500, 90, 12, 5], 4, 1), blobs(&[60, 40, 20, 4, 2], 4, 1)),
        ("some", blobs(&[150, 100, 30, 6], 3, 3), blobs(&[60, 40, 20, 6], 3, 3)),
        ("wide", blobs(&[90, 60, 8], 70, 2), blobs(&[30, 20, 4], 70, 2)),
    ];
    let rows = tables.map(|(name, train, test)| {
        let rows = Rows { train: format!("{name}-train.csv"), test: format!("{name}-test.csv") };
        room.write(&rows.train, train);
        room.write(&rows.test, test);
        rows
    });
    let many = [
        ("exact-d", "lip-d --solver exact --slack pair --c 100 --tol 1e-6 --max-iter 500", 2e-6),
        ("exact-i", "lip-i --solver exact --slack pair --c 100000 --tol 1e-6 --max-iter 500", 2e-6),
        ("exact-c-max", "lip-d --solver exact --slack pair --c-rel 0.1 --tol 1e-6 --max-iter 500", 2e-6),
        ("augmented", "lip-d --solver augmented --slack pair --c 100 --tol 1e-3 --max-iter 10000", 2e-3),
        ("augmented-low", "lip-i --solver augmented --rank 2 --slack pair --c 100 --tol 1e-2 --max-iter 100", 2e-2),
        ("admm", "lip-i --solver admm --slack pair --c 1000 --tol 1e-2 --max-iter 200", 2e-2),
        ("lip-local", "lip-local --c-rel 0.2 --tol 1e-2 --max-iter 100", 2e-2),
        ("lmnn", "lmnn --targets 3 --push 0.5 --slack pair --init auto --tol 1e-2 --max-iter 30", 1e-2),
        ("nca", "nca --init auto --tol 1e-5 --max-iter 10", 1e-2),
        ("mcml", "mcml --init auto --tol 1e-3 --max-iter 10", 1e-2),
    ];
    let some = [
        ("cvar", "lip-i --solver exact --slack pair --diameter cvar:0.1 --c-rel 0.01 --tol 1e-4 --max-iter 100", 2e-4),
        (
            "instance",
            "lip-d --solver exact --slack instance --diameter max --c-rel 0.1 --tol 1e-6 --max-iter 500",
            2e-6,
        ),
        ("paper", "lip-i --solver paper --mu 0.1 --slack pair --c 100 --tol 1e-3 --max-iter 50", 1e-6),
    ];
    let wide = [
        ("augmented", "lip-i --solver augmented --slack pair --c 1 --tol 1e-2 --max-iter 300", 2e-2),
        ("admm", "lip-d --solver admm --slack pair --c 1 --tol 1e-2 --max-iter 300", 2e-2),
        ("admm-low", "lip-d --solver admm --rank 5 --slack pair --c 1 --tol 1e-2 --max-iter 300", 2e-2),
        ("nca-low", "nca --n-components 3 --init random:3 --tol 1e-5 --max-iter 30", 1e-2),
    ];
    let mut cases = Vec::new();
    for (at, (set, methods)) in [("many", &many[..]), ("some", &some), ("wide", &wide)].into_iter().enumerate() {
        for &(name, options, within) in methods {
            let fit = words(&format!("--scale standard --k 3 --method {options}"));
            cases.push(Case {
                name: format!("{set} {name}"),
                rows: at,
                fit,
                predict: &["--proba", "--margin"],
                within,
            });
        }
    }
    check("large", &room, &rows, &cases);
}
