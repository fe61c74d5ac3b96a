//! The grid of a cross-validation: every combination of the listed values.

use burn_rank::json::{Map, Value};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{did_you_mean, nearest};

/// One combination of values: each dotted key with its value, in the order of the grid.
pub type Point = Vec<(String, Value)>;

/// The largest number of combinations in a grid; each one is fitted in every fold with every seed.
const MOST_POINTS: usize = 100_000;

/// The sections whose keys a grid or a search may vary; data, seeds and measures stay fixed.
const SECTIONS: [&str; 4] = ["normalizer", "scorer", "loss", "learner"];

/// Rejects keys outside the sections that a grid may vary, such as seeds or files.
///
/// # Errors
/// Returns a [`Refusal`] that names the first invalid key.
pub(super) fn check_keys(grid: &Map) -> Result<(), Refusal> {
    let section = |key: &str| key.split('.').next().unwrap_or_default().to_string();
    match grid.keys().find(|key| !SECTIONS.contains(&section(key).as_str())) {
        None => Ok(()),
        Some(key) => {
            let near = did_you_mean(&nearest(&section(key), SECTIONS));
            let fault = format!("expected a key that begins with one of {}{near}", SECTIONS.join(", "));
            Err(Refusal::fault(key, fault))
        }
    }
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
            let quote = quote.map(|(name, _)| format!("; put the key in quotes, as in \"{key}.{name}\" = [..]"));
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
        let extend = |point: &Point| -> Vec<Point> {
            let with = |value: &Value| point.iter().cloned().chain([(key.clone(), value.clone())]).collect();
            values.iter().map(with).collect()
        };
        points = points.iter().flat_map(extend).collect();
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
        assert!(error.ends_with("put the key in quotes, as in \"learner.epochs\" = [..]"), "{error}");
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
}
