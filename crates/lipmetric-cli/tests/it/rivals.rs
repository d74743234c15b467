//! LMNN, LMML, NCA and MCML through the program.

use crate::common::Room;

const METHODS: [&str; 4] = ["lmnn", "lmml", "nca", "mcml"];

#[test]
fn every_method_fits_predicts_and_tells_its_figures() {
    let room = Room::new();
    for method in METHODS {
        let fit = room.json(&["fit", "--data", "haberman", "--method", method, "--model", "m.lip", "--json"]);
        assert_eq!((&fit["status"], &fit["method"]), (&"optimal".into(), &method.into()));
        assert!(fit["objective"].as_f64().unwrap() > 0.0 && fit["iterations"].as_u64().unwrap() > 0);
        if method == "nca" {
            assert!(fit["gap"].is_null());
        } else {
            let tolerance = fit["parameters"]["tol"].as_f64().unwrap();
            assert!(fit["gap"].as_f64().unwrap() <= tolerance, "{fit}");
            assert!(fit["dual"].as_f64().unwrap() <= fit["objective"].as_f64().unwrap());
        }
        let told = room.json(&["evaluate", "--data", "haberman", "--model", "m.lip", "--json"]);
        assert!(told["accuracy"].as_f64().unwrap() > 0.9, "{method}: its own rows, one neighbour: {told}");
        assert_eq!(room.json(&["inspect", "m.lip", "--json"])["method"], method);
    }
}

#[test]
fn their_options_mean_what_they_say() {
    let room = Room::new();
    let fit = |args: &[&str]| room.json(&[&["fit", "--data", "echo", "--json"][..], args].concat());
    let two = fit(&["--method", "nca", "--n-components", "2", "--init", "lda", "--model", "two.lip"]);
    assert_eq!((&two["rank"], &two["parameters"]["init"]), (&2.into(), &"lda".into()));
    let warm = fit(&["--method", "nca", "--warm-start", "two.lip"]);
    assert!(warm["notes"].to_string().contains("began from a given metric"), "{warm}");
    assert!(warm["objective"].as_f64().unwrap() <= two["objective"].as_f64().unwrap() + 1e-3);
    let random = |seed: &str| fit(&["--method", "nca", "--init", seed, "--n-components", "1"])["objective"].clone();
    assert_eq!(random("random:3"), random("random:3"));
    let lmnn = fit(&["--method", "lmnn", "--targets", "1", "--push", "0.95", "--slack", "instance"]);
    assert_eq!((&lmnn["parameters"]["targets"], &lmnn["parameters"]["slack"]), (&1.into(), &"instance".into()));
    assert!(fit(&["--method", "lmml", "--alpha", "0.1"])["objective"] != fit(&["--method", "lmml"])["objective"]);
    let log = fit(&["--method", "nca", "--loss", "log", "--penalty", "0.5", "--model", "log.lip"]);
    assert_eq!((&log["parameters"]["loss"], &log["parameters"]["penalty"]), (&"log".into(), &0.5.into()));
    assert!(log["notes"].to_string().contains("held out"), "{log}");
    assert!(room.ok(&["inspect", "log.lip", "--spec"]).contains("\"loss\": \"log\""));
    let limited = room.run(&["fit", "--data", "echo", "--method", "lmml", "--max-iter", "1", "--json"]);
    assert_eq!(limited.status.code(), Some(4));
}

#[test]
fn a_recursive_feature_machine_fits_predicts_and_takes_its_settings_from_a_file() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "haberman", "--method", "agop", "--k", "5", "--model", "m.lip", "--json"]);
    assert_eq!((&fit["status"], &fit["method"]), (&"closed_form".into(), &"agop".into()));
    assert!((1..=3).contains(&fit["iterations"].as_u64().unwrap()), "{fit}");
    assert!(fit["objective"].is_null() && fit["gap"].is_null());
    assert!(fit["notes"].to_string().contains("bandwidth"), "{fit}");
    let told = room.json(&["evaluate", "--data", "haberman", "--model", "m.lip", "--json"]);
    assert!(told["accuracy"].as_f64().unwrap() > 0.75, "{told}");
    room.write("spec.json", r#"{"method": "agop", "rounds": 1, "width": 0.7, "ridge": 0.1}"#);
    let one = room.json(&["fit", "--data", "haberman", "--spec", "spec.json", "--model", "one.lip", "--json"]);
    assert_eq!((&one["iterations"], &one["parameters"]["width"]), (&1.into(), &0.7.into()));
    let spec = room.ok(&["inspect", "one.lip", "--spec"]);
    assert!(spec.contains("\"agop\"") && spec.contains("\"ridge\": 0.1"), "{spec}");
    room.write("bad.json", r#"{"method": "agop", "rounds": 0}"#);
    assert!(room.fails(2, &["fit", "--data", "haberman", "--spec", "bad.json"]).contains("rounds"));
    assert!(
        room.fails(2, &["fit", "--data", "haberman", "--method", "agop", "--c", "1"]).contains("--c is an option of")
    );
}

#[test]
fn options_of_other_methods_are_refused_by_name() {
    let room = Room::new();
    for (args, told) in [
        (
            &["--method", "nca", "--c", "1"][..],
            "--c is an option of lip-d, lip-i and lip only; nca has --tol, --max-iter",
        ),
        (&["--method", "lip-local", "--slack", "pair"], "lip-local has --c-rel, --tol and --max-iter"),
        (&["--method", "nca", "--slack", "pair"], "lip-d, lip-i, lip and lmnn"),
        (&["--method", "mcml", "--slack", "pair"], "--slack"),
        (&["--method", "nca", "--push", "0.5"], "--push is an option of lmnn"),
        (&["--method", "lmnn", "--alpha", "1"], "--alpha is an option of lmml"),
        (&["--method", "lip-d", "--init", "pca"], "--init is an option of"),
        (&["--method", "nn", "--n-components", "2"], "--n-components is an option of"),
        (&["--method", "nca", "--n-components", "99"], "--n-components: 99"),
        (&["--method", "lmnn", "--push", "1.5"], "--push: 1.5"),
        (&["--method", "lmnn", "--targets", "0"], "--targets: 0"),
        (&["--method", "lmml", "--alpha", "0"], "--alpha: 0"),
        (&["--method", "nca", "--tol", "7"], "--tol: 7"),
        (&["--method", "nca", "--init", "nonsense"], "random:SEED"),
        (&["--method", "nca", "--k", "many"], "auto"),
        (&["--method", "nca", "--loss", "hinge"], "errors, log"),
        (&["--method", "nca", "--penalty=-1"], "--penalty: -1"),
        (&["--method", "mcml", "--loss", "log"], "--loss is an option of nca only"),
        (&["--method", "nca", "--k", "0"], "--k"),
    ] {
        let error = room.fails(2, &[&["fit", "--data", "echo"][..], args].concat());
        assert!(error.contains(told), "{args:?}: {error}");
    }
}

#[test]
fn comparisons_can_be_given_in_a_file() {
    let room = Room::new();
    room.write("t.csv", "a,b,y\n0,9,u\n0.5,1,u\n2,8,v\n2.5,2,v\n");
    room.write("told.csv", "i,j,l\n1,2,3\n4,3,2\n");
    let fit = room.json(&["fit", "t.csv", "--method", "lmml", "--triplets", "told.csv", "--json"]);
    assert_eq!(fit["status"], "optimal");
    assert!(fit["notes"].to_string().contains("2 given comparisons"), "{fit}");
    room.write("bad.csv", "1,2,3\n1,2\n");
    let error = room.fails(3, &["fit", "t.csv", "--method", "lmml", "--triplets", "bad.csv"]);
    assert!(error.contains("bad.csv, line 2"), "{error}");
    room.write("far.csv", "1,2,9\n");
    let error = room.fails(3, &["fit", "t.csv", "--method", "lmml", "--triplets", "far.csv"]);
    assert!(error.contains("far.csv, line 1: there is no row 9"), "{error}");
    assert!(room.fails(2, &["fit", "t.csv", "--method", "nca", "--triplets", "told.csv"]).contains("lmml"));
    room.fails(1, &["fit", "t.csv", "--method", "lmml", "--triplets", "absent.csv"]);
}

#[test]
fn the_number_of_neighbours_can_be_chosen_from_the_rows() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "haberman", "--method", "nn", "--k", "auto", "--model", "m.lip", "--json"]);
    let k = fit["k"].as_u64().unwrap();
    assert!(k > 1 && k <= 31 && k % 2 == 1, "{k}");
    let same = room.json(&["fit", "--data", "haberman", "--method", "nn", "--k", "auto", "--json"]);
    assert_eq!(same["k"], k);
    assert!(
        room.ok(&["compare", "haberman", "--methods", "nn", "--k", "auto", "--repeats", "2"]).contains("leave-one-out")
    );
}

#[test]
fn methods_stand_side_by_side_in_a_comparison() {
    let room = Room::new();
    let table = room.ok(&["compare", "echo", "--methods", "nn,lmnn,lmml,nca,mcml,agop,nca:loss=log", "--repeats", "2"]);
    for title in ["NN", "LMNN", "LMML", "NCA", "MCML", "AGOP", "loss=log"] {
        assert!(table.contains(title), "{table}");
    }
    let fit = |threads: &str| {
        METHODS.map(|m| {
            room.ok(&["fit", "--data", "cancer", "--method", m, "--threads", threads, "--model", "m.lip"]);
            room.read("m.lip")
        })
    };
    assert_eq!(fit("1"), fit("2"));
}
