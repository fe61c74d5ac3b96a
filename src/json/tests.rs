//! Values of every form are decoded, and errors have the key, what was found and what was expected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Everything {
    real: f64,
    count: Option<u64>,
    byte: u8,
    signed: i8,
    flag: bool,
    text: String,
    shape: Option<Shape>,
    list: Vec<Shape>,
    pair: (i64, String),
    map: BTreeMap<String, bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only what cannot be decoded is looked at")]
enum Shape {
    Point,
    Circle(f64),
    Box { width: f64 },
    Of(Side),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Left,
}

#[test]
fn errors_have_the_key_what_was_found_and_what_was_expected() {
    for (value, expected) in [
        (json!([]), "found a list, expected a table"),
        (json!({"real": "x"}), "real: found \"x\", expected a number"),
        (json!({"count": -1}), "count: found -1, expected a whole number, 0 or above"),
        (json!({"count": 1.5}), "count: found 1.5, expected a whole number, 0 or above"),
        (json!({"count": "3"}), "count: found \"3\", expected a whole number, 0 or above"),
        (json!({"count": {}}), "count: found a table, expected a whole number, 0 or above"),
        (json!({"byte": 256}), "byte: found 256, expected a whole number up to 255"),
        (json!({"signed": -129}), "signed: found -129, expected a whole number from -128"),
        (json!({"signed": null}), "signed: found nothing, expected a whole number"),
        (json!({"flag": 1}), "flag: found 1, expected true or false"),
        (json!({"text": true}), "text: found true, expected a string"),
        (json!({"shape": 3}), "shape: found 3, expected a name, or a table with one key"),
        (json!({"shape": {}}), "shape: found a table with no or several keys, expected one key"),
        (json!({"shape": "circle"}), "shape.circle: found only a name, expected a table with one key"),
        (json!({"shape": {"point": 1}}), "shape.point: found 1, expected only the name"),
        (json!({"shape": {"box": {"width": []}}}), "shape.box.width: found a list, expected a number"),
        (json!({"shape": {"box": {}}}), "shape.box: missing field `width`"),
        (json!({"list": null}), "list: found nothing, expected a list"),
        (json!({"list": ["point", {"circle": "r"}]}), "list[1].circle: found \"r\", expected a number"),
        (json!({"shape": {"of": "lft"}}), "shape.of: unknown variant `lft`, expected `left`; did you mean `left`?"),
        (json!({"pair": [1]}), "pair: found a list of 1, expected a list of 2"),
        (json!({"map": {"7": 1}}), "map.7: found 1, expected true or false"),
    ] {
        let refusal = from_value::<Everything>(value).unwrap_err();
        assert_eq!(refusal.with_key(), expected);
    }
}

#[test]
fn valid_names_are_data() {
    let refusal = from_value::<Everything>(json!({"shape": "circel"})).unwrap_err();
    assert_eq!(refusal.unknown_name(), Some("circel"));
    assert_eq!(refusal.known_names(), ["point", "circle", "box", "of"]);
    assert_eq!(refusal.nearest_name().as_deref(), Some("circle"));
    let refusal = from_value::<Everything>(json!({"flga": true})).unwrap_err();
    assert_eq!((refusal.key.as_str(), refusal.known_names().len()), ("flga", 10));
}

#[test]
fn numbers_keep_their_values_and_fields_their_order() {
    #[derive(Serialize)]
    struct Fields {
        zeta: f32,
        alpha: [f64; 2],
        not_finite: f64,
    }
    let value = to_value(Fields { zeta: 0.1, alpha: [0.1 + 0.2, -0.0], not_finite: f64::NAN }).unwrap();
    let text = "{\"zeta\":0.10000000149011612,\"alpha\":[0.30000000000000004,-0.0],\"not_finite\":null}";
    assert_eq!(value.to_string(), text);
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
}

tagged! {
    "Figure"
    /// One of each form.
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Figure {
        /// A variant without content.
        Point,
        /// A variant with fields.
        Circle {
            /// Half of the circle's width.
            radius: f64,
            /// The colors of the circle.
            #[serde(default)]
            colors: Vec<String>,
        },
        /// A variant with a separate type.
        Line(Line),
    }
}

/// A line that starts at 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    to: usize,
}

#[derive(Debug, Deserialize)]
struct Drawing {
    figure: Figure,
}

fn refused(figure: Value) -> String {
    from_value::<Drawing>(json!({"figure": figure})).unwrap_err().with_key()
}

#[test]
fn tables_come_back_wherever_the_kind_stands() {
    let figures =
        [Figure::Point, Figure::Circle { radius: 0.5, colors: vec!["red".into()] }, Figure::Line(Line { to: 3 })];
    for figure in figures {
        let value = to_value(&figure).unwrap();
        assert_eq!(value.as_object().unwrap().keys().next().unwrap(), "kind");
        assert_eq!(from_value::<Figure>(value.clone()).unwrap(), figure);
        let fields: Vec<(String, Value)> = value.as_object().unwrap().clone().into_iter().rev().collect();
        let last = Value::Object(fields.into_iter().collect());
        assert_eq!(serde_json::from_str::<Figure>(&last.to_string()).unwrap(), figure);
        assert_eq!(from_value::<Drawing>(json!({"figure": last})).unwrap().figure, figure);
    }
}

#[test]
fn errors_have_the_key_in_the_table() {
    for (figure, expected) in [
        (json!({"radius": 1}), "figure: missing field `kind`"),
        (json!({"kind": 3}), "figure.kind: found 3, expected a string"),
        (
            json!({"kind": "cirle"}),
            "figure.kind: unknown variant `cirle`, expected one of `point`, `circle`, `line`; did you mean `circle`?",
        ),
        (json!({"kind": "circle"}), "figure: missing field `radius`"),
        (json!({"radius": "r", "kind": "circle"}), "figure.radius: found \"r\", expected a number"),
        (json!({"kind": "circle", "radius": 1, "colors": ["red", 2]}), "figure.colors[1]: found 2, expected a string"),
        (json!({"kind": "point", "x": 1}), "figure.x: unknown field `x`, there are no fields"),
        (json!({"kind": "line", "too": 1}), "figure.too: unknown field `too`, expected `to`; did you mean `to`?"),
        (json!({"kind": "line", "to": -1}), "figure.to: found -1, expected a whole number, 0 or above"),
        (json!("point"), "figure: found \"point\", expected a table with a kind, as in { kind = \"point\" }"),
        (json!(3), "figure: found 3, expected a table with a kind, as in { kind = \"...\" }"),
    ] {
        assert_eq!(refused(figure), expected);
    }
    let elsewhere = serde_json::from_str::<Figure>(r#"{"radius": "r", "kind": "circle"}"#).unwrap_err().to_string();
    assert!(elsewhere.starts_with("radius: found \"r\", expected a number"), "{elsewhere}");
}
