//! Models of format 1: a method's name and a map of parameters, where format 2 has a [`Spec`](lipmetric::method::Spec).

use serde_json::{Map, Value, json};

/// Puts the description of a model of format 1 into the words of format 2. What was learned from beside the rows, which is no
/// part of a spec, becomes a note.
pub(super) fn upgrade(description: &mut Map<String, Value>) {
    let method = description.remove("method").unwrap_or_default();
    let parameters = match description.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    let voting = description.remove("voting").unwrap_or_default();
    description.insert("classifier".to_owned(), json!({ "vote": voting }));
    let mut notes = Vec::new();
    let spec = spec(method.as_str().unwrap_or_default(), parameters, &mut notes);
    description.insert("spec".to_owned(), spec.clone());
    description.insert("used".to_owned(), spec);
    if let Some(Value::Array(told)) = description.get_mut("outcome").and_then(|o| o.get_mut("notes")) {
        told.extend(notes.into_iter().map(Value::String));
    }
}

fn spec(method: &str, parameters: Map<String, Value>, notes: &mut Vec<String>) -> Value {
    let mut out = Map::new();
    let lip = match method {
        "lip-d" => Some("diameter"),
        "lip-i" => Some("intra"),
        "lip" => Some("auto"),
        _ => None,
    };
    out.insert("method".to_owned(), json!(if lip.is_some() { "lip" } else { method }));
    if let Some(variant) = lip {
        out.insert("variant".to_owned(), json!(variant));
        // The exact solver was not named where it alone had been asked for; what is chosen was chosen by it.
        let chooses = parameters.values().any(|v| v == "auto");
        out.insert("solver".to_owned(), json!(if chooses { "auto" } else { "exact" }));
    }
    for (name, value) in parameters {
        match (name.as_str(), &value) {
            ("tol", _) => out.insert("tolerance".to_owned(), value),
            ("max_iter", _) => out.insert("max_iterations".to_owned(), value),
            ("c" | "c_rel", Value::String(_)) if lip.is_some() => out.insert("trade_off".to_owned(), value),
            ("c" | "c_rel", _) if lip.is_some() => out.insert("trade_off".to_owned(), json!({ name: value })),
            ("triplets", Value::Number(number)) => {
                notes.push(format!("learned from {number} given comparisons, not from the labels"));
                None
            }
            ("triplets", _) => None,
            ("init", Value::String(init)) if init == "given" => {
                notes.push("the search began from a given metric".to_owned());
                None
            }
            ("init", Value::String(init)) => {
                let seed = init.strip_prefix("random ").and_then(|s| s.parse::<u64>().ok());
                out.insert(name, seed.map_or(value, |seed| json!({ "random": seed })))
            }
            _ => out.insert(name, value),
        };
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lipmetric::method::{Choose, Init, Lip, Lmml, Nca, Solver, Spec};

    fn read(method: &str, parameters: Value) -> (Spec, Vec<String>) {
        let Value::Object(parameters) = parameters else { panic!("an object") };
        let mut notes = Vec::new();
        let spec = spec(method, parameters, &mut notes);
        (serde_json::from_value(spec).expect("a spec"), notes)
    }

    #[test]
    fn what_the_first_format_says_of_a_method_is_understood() {
        let exact = json!({ "slack": "instance", "c_rel": 0.1, "tol": 1e-6, "max_iter": 500, "class_weights": "none",
                            "diameter": "maximum", "anchor": null });
        let lip = Lip::overall().solver(Solver::Exact).tolerance(1e-6).max_iterations(500);
        assert_eq!(read("lip-d", exact).0, lip.into());
        let chosen = json!({ "slack": "auto", "c_rel": "auto", "tol": 1e-6, "max_iter": 500, "class_weights": "none",
                             "diameter": "maximum", "anchor": null, "variant": "auto", "seed": 0 });
        let lip = Lip::chosen().slack(Choose::Auto).tolerance(1e-6).max_iterations(500);
        assert_eq!(read("lip", chosen).0, lip.into());
        let nca = json!({ "n_components": 1, "init": "random 3", "tol": 1e-5, "max_iter": 200 });
        assert_eq!(read("nca", nca).0, Nca::new().n_components(1).init(Init::Random(3)).into());
        let told = json!({ "alpha": 1.0, "triplets": 2, "n_components": null, "init": "given", "tol": 1e-6, "max_iter": 20000 });
        let (spec, notes) = read("lmml", told);
        assert_eq!((spec, notes.len()), (Lmml::new().into(), 2));
    }
}
