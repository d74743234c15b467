//! Rows of different class that are much nearer to each other than the range of a column: what is certified must be true.

use crate::common::Room;

/// Tables for which figures once disagreed with the metric that was stored: `fit` with these options.
const TABLES: [(&str, &str, &[&str]); 4] = [
    (
        "four.csv",
        "a0,label\n0.086543346081531414,c0\n0.086543340727636253,c1\n-1.0448397205827094,c1\n20591.565923043738,c1\n",
        &["--method", "lip-i", "--slack", "instance", "--c-rel", "0.1"],
    ),
    (
        "six.csv",
        "a0,a1,label\n-0.13271211955193377,-0.55648455990147483,c0\n-0.13271211943087116,-0.55648455986627088,c1\n\
         2050459820.590333,1122837183.279767,c1\n0.12243958704837796,0.96785729466925796,c1\n\
         -0.14500506395044604,0.085882257862405526,c1\n-0.83735786891856789,-0.0004898156404100246,c1\n",
        &["--method", "lip-d", "--slack", "instance", "--scale", "minmax", "--c-rel", "0.01"],
    ),
    (
        "tail.csv",
        "a0,a1,a2,label\n-0.72365333015878364,0.32809479982850953,-0.24175235529043504,c0\n\
         -0.72365333015878364,0.32809479982850964,-0.24175235529043498,c1\n\
         -0.019425019490510818,1.3070530937237108,0.28510641982543006,c0\n\
         2.6993432638457229,-1.0327109092930558,0.87493632277174971,c0\n",
        &["--method", "lip-d", "--diameter", "cvar:0.2", "--scale", "none", "--c-rel", "0.01"],
    ),
    (
        "far.csv",
        "a0,a1,a2,a3,label\n0.42101007383433092,-0.6984159063212183,-0.16147509203960825,-2.3241860295938284,c0\n\
         0.42101007383393224,-0.69841590631993589,-0.16147509203855528,-2.3241860295939141,c1\n\
         0.20409972161805773,-0.91853146878536651,1.0222050987658653,-0.72773968583266002,c0\n\
         10571428634.791561,-3277344654.2028718,-8342011665.6088858,-433694778.65118366,c0\n\
         0.17298169924610363,-1.8690077901057662,1.6250738850818685,1.1047371554024463,c0\n\
         -1.1188812972597069,0.79475142145534106,-0.61377033297737926,-0.32806736512191115,c0\n",
        &["--method", "lip-d", "--slack", "instance", "--c-rel", "0.01"],
    ),
];

#[test]
fn near_rows_of_different_class_are_solved_and_the_certificate_holds_in_exact_arithmetic() {
    let room = Room::new();
    for (name, text, options) in TABLES {
        room.write(name, text);
        let mut arguments = vec!["fit", name, "--json", "--certificate", "--model", "m.lip"];
        arguments.extend(options);
        let fit = room.json(&arguments);
        let number = |key: &str| fit[key].as_f64().unwrap();
        assert_eq!(fit["status"], "optimal", "{name}");
        assert!(number("dual") <= number("objective") && number("gap") <= 1e-6, "{name}: {fit}");
        room.ok(&["verify", "m.lip"]);
    }
}

/// The exit code and the report of a fit that need not converge.
fn json_of(room: &Room, arguments: &[&str]) -> (i32, serde_json::Value) {
    let out = room.run(arguments);
    (out.status.code().unwrap(), serde_json::from_slice(&out.stdout).unwrap())
}

/// Eight rows near the origin, two of them 1e-15 apart, and one 3e12 away.
const ONE_FAR: &str = "a0,a1,a2,label\n\
    -0.2193532492014491,-0.4928019554701152,-0.5263972987102614,c0\n\
    -0.21935324920144983,-0.49280195547011496,-0.5263972987102628,c1\n\
    1.8801581656393522,0.6857693587352875,0.8113280559101932,c0\n0.944026545271262,1.0734599787443582,-0.4782066584740969,c1\n\
    -1.3027824740958727,-0.616202574827318,1.5658271195439732,c0\n-0.2753772320063578,-0.09522740586626968,1.541400144021655,c1\n\
    -0.23518177479057942,-0.7542508676492928,-1.1681268923723942,c0\n1.607351582845596,0.37582208326093897,0.29620202794730466,c1\n\
    576419040907.7552,2886084816247.8984,961719730809.3446,c1\n";

#[test]
fn a_row_far_out_does_not_hide_what_the_others_vary_in() {
    let room = Room::new();
    room.write("far.csv", ONE_FAR);
    let options =
        "fit far.csv --method lip-d --slack pair --scale none --c-rel 1e-6 --json --certificate --model m.lip";
    let fit = room.json(&options.split(' ').collect::<Vec<_>>());
    // Only the two that are nearly equal stay inside the margin.
    assert!(fit["objective"].as_f64().unwrap() < 2.1, "{fit}");
    assert_eq!(fit["status"], "optimal", "{fit}");
    room.ok(&["verify", "m.lip"]);
}

#[test]
fn a_bound_allows_for_metrics_on_directions_that_are_too_faint_to_use() {
    let room = Room::new();
    // The third row and the fourth make two directions; what tells the first two apart is 1e-13 of them.
    let rows = "a0,a1,a2,label\n0.495809949495972,-0.2859788291554181,0.55315179590798,c0\n\
        0.4958099494961545,-0.2859788291553984,0.5531517959078533,c1\n\
        1.5793881857053282,-1.3419622136975353,0.4355313594517799,c0\n\
        0.4481852896125498,0.12620744385000213,1.0374480699003463,c1\n";
    room.write("faint.csv", rows);
    let options = "fit faint.csv --method lip-i --slack pair --diameter mean --c 1e-7 --json";
    let (code, fit) = json_of(&room, &options.split(' ').collect::<Vec<_>>());
    // A metric that uses that direction has an objective of some 1e-6, and none of the others one below 2.
    assert!(fit["dual"].as_f64().unwrap() < 1e-5 || fit["objective"].as_f64().unwrap() < 1e-5, "{fit}");
    assert!(code == 0 || fit["notes"].to_string().contains("the bound allows for metrics that do"), "{fit}");
}

#[test]
fn the_paper_s_algorithm_proves_nothing_where_its_sums_have_lost_their_digits() {
    let room = Room::new();
    room.write(
        "near.csv",
        "a0,a1,label\n0.06558926332342985,0.3373955028434046,c0\n0.170381913951361,0.8764558148174648,c1\n\
        1.6754565763214553,8.618659273210602,c0\n0.672361551706777,3.4586722234280587,c1\n",
    );
    let options = "fit near.csv --method lip-d --slack pair --solver SOLVER --c 0.1 --scale none --json";
    let bound = |solver: &str| {
        let options = options.replace("SOLVER", solver);
        let (_, fit) = json_of(&room, &options.split(' ').collect::<Vec<_>>());
        (fit["dual"].as_f64().unwrap(), fit["objective"].as_f64().unwrap())
    };
    assert!(bound("paper").0 <= bound("exact").1);
}

#[test]
fn a_blend_does_not_carry_the_certificate_of_what_was_blended() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "echo", "--metrics", "lip-local", "--classifier", "nearest", "--json"]);
    assert!(fit["choice"]["euclid"].as_f64().unwrap() > 0.0, "{fit}");
    assert!(fit["gap"].is_null() && fit["objective"].is_null() && fit["dual"].is_null(), "{fit}");
    assert!(fit["notes"].to_string().contains("nothing is certified of the mixture"), "{fit}");
    assert_eq!(fit["status"], "optimal");
    let told = room.ok(&["fit", "--data", "echo", "--metrics", "lip-local", "--classifier", "nearest"]);
    assert!(
        told.contains("learned part optimal to the gap noted below") && !told.contains("to the tolerance"),
        "{told}"
    );
}

#[test]
fn a_class_of_one_row_near_others_while_one_is_far_is_no_trouble_for_lmml() {
    let room = Room::new();
    room.write(
        "far.csv",
        "a0,label\n-92.52153788807037,c0\n-3.5353334708964437e-14,c1\n46525716490.934875,c0\n-113.520398958163,c1\n\
        8.865801918274293e-14,c0\n-1.6239853233419692e-10,c1\n188253500249884.72,c0\n-9.10388233331048e-08,c1\n\
        -0.9057965192229513,c2\n-9.636207444058705e-16,c1\n",
    );
    let options = "fit far.csv --method lmml --scale none --alpha 0.0015719575826958544 --n-components 1 --json";
    let (_, fit) = json_of(&room, &options.split(' ').collect::<Vec<_>>());
    assert!(fit["objective"].as_f64().unwrap() >= fit["dual"].as_f64().unwrap(), "{fit}");
}

#[test]
fn with_an_anchor_nearly_dependent_features_have_a_bound_that_is_not_above_the_objective() {
    let room = Room::new();
    room.write(
        "near.csv",
        "a0,a1,label\n0.4204628694759644,11.912113106887816,c0\n\
        -1.735311008450584,-49.16301178725724,c1\n1.5279295274255218,43.287697133967356,c0\n\
        0.7604761108617505,21.545011712509904,c1\n0.30917582560117524,8.759245279061036,c1\n\
        -0.5902538092303696,-16.722451963414272,c0\n0.4175280071721461,11.828965665536456,c1\n\
        0.9757206822683259,27.643095197190068,c2\n3.2226976466189554,91.30209029720488,c1\n",
    );
    let options = "fit near.csv --method lip-i --slack pair --diameter mean --c-rel 0.0025934969 --scale none --anchor within --json";
    let fit = room.json(&options.split(' ').collect::<Vec<_>>());
    assert_eq!(fit["status"], "optimal", "{fit}");
    assert!(fit["dual"].as_f64().unwrap() <= fit["objective"].as_f64().unwrap(), "{fit}");
}
