//! The points of a grid: every combination of the listed values, and their short names, which say in words how a point
//! differs from the others.

use std::collections::{HashMap, HashSet};

use burn_rank::json::{Map, Value};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{did_you_mean, nearest};

/// One combination of values: each dotted key with its value, in the order of the grid.
pub type Point = Vec<(String, Value)>;

/// The largest number of combinations in a grid; each one is fitted in every fold with every seed.
const MOST_POINTS: usize = 100_000;

/// The sections whose keys a grid or a search may vary, and that each of `[[members]]` has for itself; data, seeds and
/// measures stay fixed.
pub(super) const SECTIONS: [&str; 4] = ["normalizer", "scorer", "loss", "learner"];

/// Rejects keys outside the sections that a grid may vary, such as seeds or files.
///
/// # Errors
/// Returns a [`Refusal`] that names the first invalid key.
pub(super) fn check_keys(grid: &Map) -> Result<(), Refusal> {
    let Some(key) = grid.keys().find(|key| !SECTIONS.contains(&section_of(key))) else { return Ok(()) };
    let near = did_you_mean(&nearest(section_of(key), SECTIONS));
    Err(Refusal::fault(key, format!("expected a key that begins with one of {}{near}", SECTIONS.join(", "))))
}

/// Returns the section that contains a dotted key.
pub(super) fn section_of(key: &str) -> &str {
    key.split('.').next().unwrap_or_default()
}

/// Returns every combination of the listed values, with the last key varying fastest. An empty grid gives one empty
/// point.
///
/// # Errors
/// Returns an error if a key has no nonempty list of values, or if there are more than 100,000 combinations.
pub fn points(grid: &Map) -> Result<Vec<Point>, Refusal> {
    let mut lists = Vec::with_capacity(grid.len());
    for (key, values) in grid {
        let no_list = || {
            // An unquoted key with a dot is a table in TOML.
            let quote = values.as_object().and_then(|table| table.iter().next());
            let quote =
                quote.map(|(name, _)| format!("; put the key in quotes, as in grid = {{ \"{key}.{name}\" = [..] }}"));
            let fault = format!("expected a list of values, at least one{}", quote.unwrap_or_default());
            Refusal::fault(key, fault).under("grid")
        };
        lists.push((key, values.as_array().filter(|values| !values.is_empty()).ok_or_else(no_list)?));
    }
    let count = lists.iter().fold(1usize, |count, (_, values)| count.saturating_mul(values.len()));
    if count > MOST_POINTS {
        let fault = format!("found {count} combinations, expected at most {MOST_POINTS}");
        return Err(Refusal::fault("grid", fault));
    }
    let mut points = vec![Point::new()];
    for (key, values) in lists {
        let with = |point: &Point| -> Vec<Point> {
            values.iter().map(|value| [&point[..], &[(key.clone(), value.clone())]].concat()).collect()
        };
        points = points.iter().flat_map(with).collect();
    }
    Ok(points)
}

/// Formats a grid point as `key=value key=value`, or as `-` if it has no keys.
pub fn label(point: &Point) -> String {
    if point.is_empty() {
        return "-".to_string();
    }
    point.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// Returns a short name for each point, such as `trees (7 leaves)`. A name has only the keys that are needed to
/// distinguish the points. `config` is the configuration that the points change.
pub fn names(points: &[Point], config: &Value) -> Vec<String> {
    let points: Vec<Point> = points.iter().map(|point| flat(point)).collect();
    let keys = distinguishing(&points);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let unique = |point: &Point| {
        let name = name(point, &keys, config);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 { format!("{name}, again ({count})") } else { name }
    };
    points.iter().map(unique).collect()
}

/// Does the same as [`names`] for the labels of points. If a label cannot be read, the names are the labels.
pub fn names_of_labels(labels: &[String], config: &Value) -> Vec<String> {
    let points: Option<Vec<Point>> = labels.iter().map(|label| parse(label)).collect();
    points.map_or_else(|| labels.to_vec(), |points| names(&points, config))
}

/// Returns all keys of a point with their values, in words.
pub(super) fn in_words(point: &Point) -> String {
    let point = flat(point);
    let keys: Vec<&str> = point.iter().map(|(key, _)| key.as_str()).collect();
    name(&point, &keys, &Value::Null)
}

/// Reads the label of a point, in which each key has a value in JSON.
fn parse(label: &str) -> Option<Point> {
    let (mut point, mut rest) = (Point::new(), label);
    while let Some((key, after)) = rest.split_once('=') {
        let mut values = serde_json::Deserializer::from_str(after).into_iter();
        point.push((key.to_string(), values.next()?.ok()?));
        rest = after[values.byte_offset()..].trim_start();
    }
    (rest.is_empty() || label == "-").then_some(point)
}

/// Replaces tables in a point with dotted keys.
fn flat(point: &[(String, Value)]) -> Point {
    let of = |(key, value): &(String, Value)| match value.as_object() {
        Some(table) => {
            let inner: Point = table.iter().map(|(name, value)| (format!("{key}.{name}"), value.clone())).collect();
            flat(&inner)
        }
        None => vec![(key.clone(), value.clone())],
    };
    point.iter().flat_map(of).collect()
}

/// Returns the fewest keys, in the order in which they occur, that distinguish the points. Kinds and names come first.
fn distinguishing(points: &[Point]) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in points.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    keys.sort_by_key(|key| !is_kind(key));
    let value =
        |point: &Point, key: &str| point.iter().find(|(name, _)| name == key).map(|(_, value)| value.to_string());
    let values = |point: &Point, keys: &[&str]| keys.iter().map(|key| value(point, key)).collect::<Vec<_>>();
    let (mut enough, mut told_apart) = (Vec::new(), 1);
    for key in keys {
        enough.push(key);
        let different = points.iter().map(|point| values(point, &enough)).collect::<HashSet<_>>().len();
        if different > told_apart {
            told_apart = different;
        } else {
            enough.pop();
        }
    }
    enough
}

/// Returns whether a key names what a section is, such as `learner.kind`.
fn is_kind(key: &str) -> bool {
    matches!(last(key), "kind" | "name")
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Formats the values of the given keys of a point.
fn name(point: &Point, keys: &[&str], config: &Value) -> String {
    let shown = point.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    let (kinds, others): (Vec<_>, Vec<_>) = shown.partition(|(key, value)| is_kind(key) && value.as_str().is_some());
    let has_scorer = kinds.iter().any(|(key, _)| key == "scorer.kind");
    let kinds: Vec<String> =
        kinds.into_iter().map(|(key, value)| kind(key, value, has_scorer, point, config)).collect();
    let words = |(key, value): &(String, Value)| {
        let same = keys.iter().filter(|other| last(other) == last(key)).count();
        property(if same > 1 { key } else { last(key) }, value)
    };
    let others = others.into_iter().map(words).collect::<Vec<_>>().join(", ");
    match (kinds.join(" "), others) {
        (kinds, others) if kinds.is_empty() && others.is_empty() => {
            let all: Vec<String> = point.iter().map(|(key, value)| property(last(key), value)).collect();
            if all.is_empty() { "as configured".to_string() } else { all.join(", ") }
        }
        (kinds, others) if kinds.is_empty() => others,
        (kinds, others) if others.is_empty() => kinds,
        (kinds, others) => format!("{kinds} ({others})"),
    }
}

/// Returns the word for a kind of learner or scorer, or for the name of a loss.
fn kind(key: &str, value: &Value, has_scorer: bool, point: &Point, config: &Value) -> String {
    let word = value.as_str().unwrap_or_default();
    match (key, word) {
        ("learner.kind", "boosted_trees") => "trees".to_string(),
        ("learner.kind", "gradient") if !has_scorer => {
            let of_point = point.iter().find(|(key, _)| key == "scorer.kind").map(|(_, value)| value);
            let scorer = of_point.unwrap_or(&config["scorer"]["kind"]);
            if scorer.as_str().is_none_or(|kind| kind == "linear") { "linear model" } else { "network" }.to_string()
        }
        _ => word.to_string(),
    }
}

/// Describes one key with its value, as in `learning rate 0.1` or `7 leaves`.
fn property(key: &str, value: &Value) -> String {
    let words = key.replace(['_', '.'], " ");
    let number = |value: &Value| value.as_f64().is_some();
    match value {
        Value::Bool(true) => words,
        Value::Bool(false) => format!("no {words}"),
        Value::String(text) => format!("{words} {text}"),
        Value::Array(values) if !values.is_empty() && values.iter().all(number) => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("{words} {}", values.join("-"))
        }
        value if value.as_u64().is_some_and(|count| count > 1) && words.ends_with('s') && !words.contains(' ') => {
            format!("{value} {words}")
        }
        value => format!("{words} {value}"),
    }
}

#[cfg(test)]
mod tests {
    use burn_rank::workbench::json::json;

    use super::*;

    #[test]
    fn all_combinations_in_order() {
        let grid = json!({"a": [1, 2], "b.c": ["x", "y"]});
        let labels: Vec<String> = points(grid.as_object().unwrap()).unwrap().iter().map(label).collect();
        assert_eq!(labels, ["a=1 b.c=\"x\"", "a=1 b.c=\"y\"", "a=2 b.c=\"x\"", "a=2 b.c=\"y\""]);
        assert_eq!(points(&Map::new()).unwrap().len(), 1);
        let empty = json!({"k": []});
        let error = points(empty.as_object().unwrap()).unwrap_err().to_string();
        assert_eq!(error, "grid.k: expected a list of values, at least one");
        let error = points(&Map::from_iter([("learner".into(), json!({"epochs": [1]}))])).unwrap_err().to_string();
        assert!(error.ends_with("put the key in quotes, as in grid = { \"learner.epochs\" = [..] }"), "{error}");
    }

    #[test]
    fn only_parameters_of_the_fit_are_keys() {
        let error = |grid: Value| check_keys(grid.as_object().unwrap()).unwrap_err().to_string();
        let good = json!({"normalizer": [], "loss": [], "scorer.hidden": [], "learner.optimizer.kind": []});
        assert_eq!(check_keys(good.as_object().unwrap()), Ok(()));
        let expected = "expected a key that begins with one of normalizer, scorer, loss, learner";
        assert_eq!(error(json!({"measure.select": ["map"]})), format!("measure.select: {expected}"));
        assert_eq!(error(json!({"leaner.epochs": [1]})), format!("leaner.epochs: {expected}; did you mean `learner`?"));
    }

    #[test]
    fn a_small_file_cannot_ask_for_a_large_grid() {
        let grid: Map = (0..40).map(|key| (format!("k{key}"), json!([1, 2]))).collect();
        let error = points(&grid).unwrap_err().to_string();
        assert_eq!(error, format!("grid: found {} combinations, expected at most 100000", 1u64 << 40));
    }

    fn named(labels: &[&str], config: &Value) -> Vec<String> {
        names_of_labels(&labels.iter().map(ToString::to_string).collect::<Vec<_>>(), config)
    }

    #[test]
    fn a_point_is_named_by_what_differs() {
        let trees = |leaves: usize| {
            format!("learner={{\"kind\":\"boosted_trees\",\"rounds\":300,\"leaves\":{leaves},\"learning_rate\":0.1}}")
        };
        let network = "learner={\"kind\":\"gradient\",\"epochs\":100,\"batch_queries\":32}";
        let labels = [&*trees(31), &*trees(7), network];
        let config = json!({"scorer": {"kind": "mlp"}});
        assert_eq!(named(&labels, &config), ["trees (31 leaves)", "trees (7 leaves)", "network"]);
        assert_eq!(named(&labels[1..], &Value::Null), ["trees", "linear model"]);
        let scorers = ["scorer={\"kind\":\"linear\"}", "scorer={\"kind\":\"mlp\",\"hidden\":[64],\"dropout\":0.3}"];
        assert_eq!(named(&scorers, &config), ["linear", "mlp"]);
    }

    #[test]
    fn keys_and_values_are_words() {
        let labels = [
            "loss.name=\"list_net\" learner.learning_rate=0.1 scorer.hidden=[64,32] scorer.bias=true",
            "loss.name=\"list_net\" learner.learning_rate=0.01 scorer.hidden=[8] scorer.bias=false",
            "loss.name=\"list_net\" learner.learning_rate=0.01 scorer.hidden=[64,32] scorer.bias=true",
            "loss.name=\"list_net\" learner.learning_rate=0.01 scorer.hidden=[64,32] scorer.bias=false",
        ];
        let names = named(&labels, &Value::Null);
        assert_eq!(names[0], "learning rate 0.1, hidden 64-32, bias");
        assert_eq!(names[1], "learning rate 0.01, hidden 8, no bias");
        let same = ["loss.temperature=2 learner.temperature=1", "loss.temperature=2 learner.temperature=3"];
        assert_eq!(named(&same, &Value::Null), ["temperature 1", "temperature 3"]);
        let both = ["loss.alpha=1 learner.alpha=1", "loss.alpha=1 learner.alpha=2", "loss.alpha=2 learner.alpha=1"];
        assert_eq!(named(&both, &Value::Null)[1], "loss alpha 1, learner alpha 2");
    }

    #[test]
    fn names_are_unique_and_a_label_that_cannot_be_read_is_kept() {
        assert_eq!(named(&["-"], &Value::Null), ["as configured"]);
        assert_eq!(named(&["learner.l2=0.1", "learner.l2=0.1"], &Value::Null)[1], "l2 0.1, again (2)");
        assert_eq!(named(&["normalizer=x", "normalizer=y"], &Value::Null), ["normalizer=x", "normalizer=y"]);
        assert_eq!(named(&["normalizer=\"none\"", "normalizer=\"log1p\""], &Value::Null)[0], "normalizer none");
    }
}
