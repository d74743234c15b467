//! `fit --certificate` and `verify`: what is proved of a stored model, and that nothing else is believed.

use crate::common::Room;
use sha2::{Digest, Sha256};

#[test]
fn a_stored_certificate_is_checked_from_the_file_alone() {
    let room = Room::new();
    for (data, extra) in [
        ("fertility", &["--method", "lip-d"][..]),
        ("echo", &["--method", "lip-i", "--slack", "pair", "--balanced"]),
        ("echo", &["--method", "lip-d", "--slack", "pair", "--diameter", "cvar:0.2"]),
        ("haberman", &["--method", "lip-i", "--diameter", "mean", "--c-rel", "0.01"]),
        ("echo", &["--method", "lip", "--k", "1"]),
    ] {
        let fixed = ["fit", "--data", data, "--certificate", "--model", "m.lip", "--json"];
        let fit = room.json(&[&fixed[..], extra].concat());
        let text = room.ok(&["verify", "m.lip"]);
        assert!(text.contains("proved: no metric has an objective below "), "{data} {extra:?}: {text}");
        let told = room.json(&["verify", "m.lip", "--json"]);
        let number = |key: &str| told[key].as_f64().unwrap();
        assert!(told["holds"] == true && told["feasible"] == true && told["reasons"].as_array().unwrap().is_empty());
        assert!(number("gap") <= 2e-6 && number("bound") <= number("objective"), "{told}");
        let claimed = fit["objective"].as_f64().unwrap();
        assert!((number("objective") / claimed - 1.0).abs() < 1e-9, "{told}");
        assert!(number("bound") >= fit["dual"].as_f64().unwrap(), "{told}");
        assert_eq!(told["claimed"]["bound"], fit["dual"]);
    }
    // The model is as good as any other to predict by, and `--without-rows` would leave nothing to check.
    room.ok(&["predict", "--data", "echo", "--model", "m.lip"]);
    let rows = ["fit", "--data", "echo", "--method", "lip-d", "--certificate", "--without-rows", "--model", "m.lip"];
    room.fails(2, &rows);
    let error = room.fails(2, &["verify", "m.lip", "--limit", "10"]);
    assert!(error.contains("--limit") && error.contains("or more"), "{error}");
}

#[test]
fn the_large_solvers_certificate_of_a_slack_per_row_is_checked_as_well() {
    let room = Room::new();
    for (data, solver, extra) in [
        ("echo", "augmented", &["--method", "lip-i"][..]),
        ("fertility", "augmented", &["--method", "lip-d", "--balanced"]),
        ("echo", "admm", &["--method", "lip-d"]),
    ] {
        let fixed = ["fit", "--data", data, "--solver", solver, "--tol", "1e-2", "--certificate", "--model", "m.lip"];
        let fit = room.json(&[&fixed[..], extra, &["--json"]].concat());
        let told = room.json(&["verify", "m.lip", "--json"]);
        assert!(told["holds"] == true && told["feasible"] == true, "{data} {solver}: {told}");
        let number = |key: &str| told[key].as_f64().unwrap();
        assert!(number("gap") <= 1e-2 && number("bound") <= number("objective"), "{told}");
        assert!(number("bound") >= fit["dual"].as_f64().unwrap(), "{told}");
    }
}

#[test]
fn a_fit_that_would_give_no_certificate_is_refused_before_it_begins() {
    let room = Room::new();
    for (extra, words) in [
        (&["--method", "nn"][..], "lip-d, lip-i, lip and lip-pairs give one"),
        (&["--method", "auto"], "lip-d, lip-i, lip and lip-pairs give one"),
        (&["--method", "lmnn"], "lmnn gives none"),
        (&["--method", "lip-d", "--slack", "pair", "--solver", "admm"], "--solver exact"),
        (&["--method", "lip-d", "--anchor", "euclid"], "--anchor"),
        (&["--method", "lip-d", "--rank", "auto"], "--rank"),
    ] {
        let fixed = ["fit", "--data", "echo", "--certificate", "--model", "m.lip"];
        let error = room.fails(2, &[&fixed[..], extra].concat());
        assert!(error.contains("--certificate") && error.contains(words), "{extra:?}: {error}");
    }
    room.fails(2, &["fit", "--data", "echo", "--method", "lip-d", "--certificate"]);
    assert!(room.names().iter().all(|n| n != "m.lip"));
    room.ok(&["fit", "--data", "echo", "--method", "lip-d", "--model", "m.lip"]);
    let error = room.fails(3, &["verify", "m.lip"]);
    assert!(error.contains("m.lip") && error.contains("fit it again with `--certificate`"), "{error}");
    // No remedy is named that would be refused.
    room.ok(&["fit", "--data", "echo", "--method", "lmnn", "--model", "l.lip"]);
    let error = room.fails(3, &["verify", "l.lip"]);
    assert!(error.contains("learned by lmnn") && !error.contains("--certificate"), "{error}");
}

/// The parts of a model file: the header, and the bytes of the tensors.
pub(crate) fn take_apart(file: &[u8]) -> (serde_json::Value, Vec<u8>) {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&file[8..8 + length]).unwrap(), file[8 + length..].to_vec())
}

/// A model file from its parts, with the right checksum.
pub(crate) fn put_together(header: &serde_json::Value, data: &[u8]) -> Vec<u8> {
    let mut header = header.clone();
    let meta = header["__metadata__"]["lipmetric"].as_str().unwrap().to_owned();
    // The checksum is one of the text as it stands between these two.
    let (before, old) = meta.split_once("\"checksum\":\"").unwrap();
    let (_, after) = old.split_once('"').unwrap();
    let text = after.split_once("\"model\":").unwrap().1.strip_suffix('}').unwrap();
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(text.as_bytes());
    let tensors: std::collections::BTreeMap<_, _> =
        header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__").collect();
    for (name, tensor) in tensors {
        part(name.as_bytes());
        let shape = tensor["shape"].as_array().unwrap();
        part(&shape.iter().flat_map(|n| n.as_u64().unwrap().to_le_bytes()).collect::<Vec<u8>>());
        let at = |k: usize| tensor["data_offsets"][k].as_u64().unwrap() as usize;
        part(&data[at(0)..at(1)]);
    }
    let sum: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    header["__metadata__"]["lipmetric"] = format!("{before}\"checksum\":\"{sum}\"{after}").into();
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn a_certificate_that_was_changed_proves_nothing_even_with_the_right_checksum() {
    let room = Room::new();
    let args = ["fit", "--data", "echo", "--method", "lip-d", "--slack", "pair", "--certificate", "--model", "m.lip"];
    room.ok(&args);
    let (header, data) = take_apart(&room.read("m.lip"));
    room.write("same.lip", put_together(&header, &data));
    room.ok(&["verify", "same.lip"]);
    let at = |name: &str| header[name]["data_offsets"][0].as_u64().unwrap() as usize;
    let changed = |name: &str, value: f64| {
        let mut data = data.clone();
        data[at(name)..at(name) + 8].copy_from_slice(&value.to_le_bytes());
        put_together(&header, &data)
    };
    // A multiplier, and the metric itself.
    for (name, value) in [("certificate.multipliers", 0.999), ("certificate.multipliers", -1.0), ("L", 100.0)] {
        room.write("m.lip", changed(name, value));
        let error = room.fails(4, &["verify", "m.lip"]);
        assert!(error.contains("not everything that the model claims holds"), "{name}: {error}");
        let told: serde_json::Value = serde_json::from_slice(&room.run(&["verify", "m.lip", "--json"]).stdout).unwrap();
        assert!(told["holds"] == false && !told["reasons"].as_array().unwrap().is_empty(), "{name}: {told}");
    }
    // What is damaged is refused as any other damage.
    let mut data_of_pairs = data.clone();
    data_of_pairs[at("certificate.pairs")..at("certificate.pairs") + 4].copy_from_slice(&9999_u32.to_le_bytes());
    room.write("m.lip", put_together(&header, &data_of_pairs));
    assert!(room.fails(3, &["verify", "m.lip"]).contains("9999"));
    room.write("m.lip", changed("certificate.multipliers", f64::NAN));
    assert!(room.fails(3, &["verify", "m.lip"]).contains("not finite"));
    let mut byte = room.read("same.lip");
    let last = byte.len() - 1;
    byte[last] ^= 1;
    room.write("m.lip", byte);
    assert!(room.fails(3, &["verify", "m.lip"]).contains("checksum"));
}
