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

#[test]
fn a_blend_does_not_carry_the_certificate_of_what_was_blended() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "echo", "--json"]);
    assert!(fit["choice"]["euclid"].as_f64().unwrap() > 0.0, "{fit}");
    assert!(fit["gap"].is_null() && fit["objective"].is_null() && fit["dual"].is_null(), "{fit}");
    assert!(fit["notes"].to_string().contains("nothing is certified of the mixture"), "{fit}");
}
