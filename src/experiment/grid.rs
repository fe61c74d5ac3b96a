//! The grid of a cross-validation: every combination of the listed values.

use serde_json::{Map, Value};

/// One combination: dotted key and value, in the order of the grid.
pub type Point = Vec<(String, Value)>;

/// Every combination of the listed values, the last key varying fastest; one empty point for an empty grid.
///
/// # Errors
/// The key that does not have a list of at least one value.
pub fn points(grid: &Map<String, Value>) -> Result<Vec<Point>, String> {
    let mut points = vec![Point::new()];
    for (key, values) in grid {
        let values = values.as_array().filter(|values| !values.is_empty()).ok_or(key)?;
        let extend = |point: &Point| -> Vec<Point> {
            let with = |value: &Value| point.iter().cloned().chain([(key.clone(), value.clone())]).collect();
            values.iter().map(with).collect()
        };
        points = points.iter().flat_map(extend).collect();
    }
    Ok(points)
}

/// `key=value key=value`, or `-` for the empty point.
pub fn label(point: &Point) -> String {
    if point.is_empty() {
        return "-".to_string();
    }
    point.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_in_order() {
        let grid = serde_json::json!({"a": [1, 2], "b.c": ["x", "y"]});
        let labels: Vec<String> = points(grid.as_object().unwrap()).unwrap().iter().map(label).collect();
        assert_eq!(labels, ["a=1 b.c=\"x\"", "a=1 b.c=\"y\"", "a=2 b.c=\"x\"", "a=2 b.c=\"y\""]);
        assert_eq!(points(&Map::new()).unwrap().len(), 1);
        let empty = serde_json::json!({"k": []});
        assert_eq!(points(empty.as_object().unwrap()), Err("k".to_string()));
    }
}
