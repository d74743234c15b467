//! Prediction by a smooth function of the distances, through the program.

use crate::common::Room;

const FIT: [&str; 8] = ["fit", "--data", "haberman", "--method", "euclidean", "--classifier", "smooth", "--model"];

#[test]
fn a_model_predicts_by_a_smooth_function_and_tells_values_probabilities_and_radii() {
    let room = Room::new();
    let fit = room.json(&[&FIT[..], &["s.lip", "--json"]].concat());
    let told = &fit["classifier"]["smooth"];
    assert_eq!((told["terms"].as_u64(), &fit["k"]), (Some(306), &serde_json::Value::Null));
    assert!(told["lipschitz"].as_f64().unwrap() > 0.0 && told["ridge"].as_f64().unwrap() > 0.0);
    assert!(fit["notes"].to_string().contains("by leave-one-out"), "{}", fit["notes"]);
    let out = room.ok(&["predict", "--model", "s.lip", "--data", "haberman", "--value", "--proba", "--radius"]);
    let mut lines = out.lines();
    assert!(lines.next().unwrap().starts_with("prediction,proba:1,proba:2,value,radius"));
    let mut held = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |k: usize| cells[k].parse::<f64>().unwrap();
        assert!((number(1) + number(2) - 1.0).abs() < 1e-9, "{line}");
        assert_eq!(cells[0] == "2", number(3) > 0.0, "{line}");
        assert!(number(4) >= 0.0, "{line}");
        held += usize::from(number(4) > 0.01);
    }
    assert!(held > 150, "{held} rows have a certified radius");
    let judged = room.json(&["evaluate", "--data", "haberman", "--model", "s.lip", "--json"]);
    assert!(judged["brier"].as_f64().unwrap() < 0.5 && judged["auc"].as_f64().unwrap() > 0.6, "{judged}");
    let shown = room.ok(&["inspect", "s.lip"]);
    assert!(shown.contains("smooth function of the distances to 306"), "{shown}");
}

#[test]
fn a_gaussian_kernel_can_be_asked_for_or_chosen_and_is_certified_too() {
    let room = Room::new();
    // Either kernel predicts this rightly, and the radii of the Gaussian are larger.
    let row = |i: usize| {
        let z = [0, 1, 2].map(|k| (1.0 + 1.7 * (i * 3 + k) as f64 + ((i * i + k) % 11) as f64).sin());
        format!("{:.4},{:.4},{:.4},{}\n", z[0], z[1], z[2], if z[0] * z[1] * z[2] > 0.0 { "out" } else { "in" })
    };
    room.write("signs.csv", format!("a,b,c,class\n{}", (0..240).map(row).collect::<String>()));
    let fit = |kernel: &str| {
        let asked = ["fit", "signs.csv", "--method", "nn", "--classifier", "smooth", "--kernel", kernel, "--json"];
        room.json(&[&asked[..], &["--model", "k.lip"]].concat())
    };
    let radii = || -> Vec<f64> {
        let out = room.ok(&["predict", "signs.csv", "--model", "k.lip", "--radius"]);
        out.lines().skip(1).map(|line| line.rsplit(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    let told = |fit: &serde_json::Value| fit["classifier"]["smooth"]["kernel"].as_str().unwrap_or("laplace").to_owned();
    assert_eq!(told(&fit("laplace")), "laplace");
    assert_eq!(told(&fit("gaussian")), "gaussian");
    assert!(radii().iter().filter(|r| **r > 0.01).count() > 150, "{:?}", radii());
    let shown = room.ok(&["inspect", "k.lip"]);
    assert!(shown.contains("Gaussian kernel") && shown.contains("format 7"), "{shown}");
    assert_eq!(told(&fit("auto")), "gaussian");
    let error = room.fails(2, &["fit", "signs.csv", "--method", "nn", "--kernel", "gaussian"]);
    assert!(error.contains("--kernel is an option of `--classifier smooth`"), "{error}");
}

#[test]
fn the_same_model_comes_from_any_number_of_threads() {
    let room = Room::new();
    room.ok(&[&FIT[..], &["one.lip", "--threads", "1"]].concat());
    room.ok(&[&FIT[..], &["two.lip", "--threads", "2"]].concat());
    assert_eq!(room.read("one.lip"), room.read("two.lip"));
}

#[test]
fn classes_can_count_alike_and_settings_be_given() {
    let room = Room::new();
    let recall = |more: &[&str]| {
        let fixed =
            ["evaluate", "--data", "haberman", "--method", "nn", "--classifier", "smooth", "--repeats", "2", "--json"];
        let told = room.json(&[&fixed[..], more].concat());
        told["classes"][1]["recall"].as_f64().unwrap()
    };
    let given = ["--width", "1", "--ridge", "0.5"];
    let balanced = [&given[..], &["--class-weights", "balanced"]].concat();
    assert!(recall(&balanced) > recall(&given) + 0.1, "the rarer class is found more often");
}

#[test]
fn options_of_another_classifier_are_refused() {
    let room = Room::new();
    let error = room.fails(2, &[&FIT[..], &["s.lip", "--k", "3"]].concat());
    assert!(error.contains("--k is an option of `--classifier nearest`"), "{error}");
    let error = room.fails(2, &["fit", "--data", "echo", "--method", "nn", "--ridge", "0.1"]);
    assert!(error.contains("--ridge is an option of `--classifier smooth`"), "{error}");
    let error = room.fails(2, &[&FIT[..], &["s.lip", "--ridge", "0"]].concat());
    assert!(error.contains("--ridge") && error.contains("not a positive number"), "{error}");
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "v.lip"]);
    let error = room.fails(2, &["predict", "--model", "v.lip", "--data", "echo", "--value"]);
    assert!(error.contains("`--classifier smooth`"), "{error}");
}

#[test]
fn evaluate_tells_what_probabilities_are_worth_beside_the_largest_class() {
    let room = Room::new();
    let shown = room.ok(&["evaluate", "--data", "echo", "--method", "nn", "--k", "5", "--repeats", "2"]);
    for figure in ["always the largest class", "AUC", "Brier score", "log-loss", "calibration error"] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
    let told = room.json(&["compare", "echo", "--methods", "nn,nn:classifier=smooth", "--repeats", "2", "--json"]);
    assert_eq!(told["methods"][1]["classifier"], "smooth");
}
