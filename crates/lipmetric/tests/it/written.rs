//! Methods as a person has written them in JSON.

use lipmetric::method::Spec;

#[test]
fn a_method_that_is_mistaken_is_told_in_words_with_its_place() {
    for (text, told) in [
        ("", "it is empty, where a method is expected"),
        ("lmnn", "line 1, column 1: `lmnn` is found, where a value is expected"),
        ("[1]", "a list is found, where an object in braces is expected"),
        ("{\"method\": \"lmnn\"", "it ends in the middle of the JSON"),
        ("{\"method\": \"lmnn\",}", "a comma with nothing after it; remove it"),
        ("{method: \"lmnn\"}", "line 1, column 2: the name `method` has no quotes; write \"method\""),
        ("{'method': 'lmnn'}", "line 1, column 2: texts are written in double quotes"),
        ("{\"method\" \"lmnn\"}", "a colon is missing after the name"),
        ("{\"method\": \"lmnn\"\n  \"targets\": 3}", "line 2, column 3: a comma is missing before this"),
        ("{\"method\": \"lmnn\"} x", "`x` is found after the end of the JSON"),
        ("{\"method\": \"lmnn\", # three\n\"targets\": 3}", "line 1, column 20: JSON has no remarks"),
        ("{\"method\": lmnn}", "`lmnn` is found, where a value is expected"),
        ("{\"methd\": \"lmnn\"}", ". Is `methd` meant to be `method`?"),
        ("{\"method\": 3}", "line 1, column 12: `method`: `3` is found, where a name in quotes"),
        ("{\"method\": \"lmn\"}", "line 1, column 12: `lmn` is no method; there are: auto, lip,"),
        ("{\"method\": \"nn\"}", ". Here it is \"method\": \"euclidean\""),
        ("{\"method\": \"lip\", \"c\": 1}", ". Here it is \"trade_off\": {\"c\": 1}"),
        ("{\"method\": \"lmnn\", \"c\": 1}", "`c` is no parameter of lmnn; it has targets"),
        (
            "{\"method\": \"lmnn\",\n \"targets\":\n  \"two\"}",
            "line 3, column 3: `targets`: \"two\" is found, where a whole number from 0 on is expected",
        ),
        (
            "{\"targets\": -1, \"method\": \"lmnn\"}",
            "line 1, column 13: `targets`: `-1` is found, where a whole number",
        ),
        (
            "{\"method\": \"lip\", \"slack\": \"pairs\"}",
            "`slack`: `pairs` is not one of pair, instance, or \"auto\". Did you mean `pair`?",
        ),
        ("{\"method\": \"lip\", \"slack\": {\"a\": [\"}\"]}, \"b\": 1}", "line 1, column 28: `slack`:"),
        (
            "{\"method\": \"lip\", \"trade_off\": 1}",
            "`trade_off`: `1` is found, where a name in quotes, or an object with one name, or \"auto\" is expected",
        ),
        ("{\"method\": \"lip\", \"anchor\": {\"towards\": \"within\"}}", "`anchor`: `weight` is missing"),
        ("{\"method\": \"euclidean\", \"ä\\\"\": 1}", "`ä\"` is no parameter of euclidean, which has none"),
    ] {
        let error = Spec::from_json(text).expect_err(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
        for foreign in
            ["variant identifier", "unknown variant", "expected value", "EOF", "invalid type", "usize", "f64"]
        {
            assert!(!error.contains(foreign), "{text}: {error}");
        }
    }
}
