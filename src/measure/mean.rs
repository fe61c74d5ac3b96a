//! Computes the mean of a measure over queries.

/// Returns the mean over the queries that have a value, or `None` if no query has one.
pub fn mean(values: &[Option<f64>]) -> Option<f64> {
    mean_of(values.iter().copied().flatten())
}

/// Returns the mean of the values, added in the given order, or `None` if there are no values.
pub fn mean_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    // Starts from -0, as `sum` does, so a mean of -0 stays -0.
    let add = |(sum, count): (f64, usize), value| (sum + value, count + 1);
    let (sum, count) = values.into_iter().fold((-0.0, 0), add);
    (count > 0).then(|| sum / count as f64)
}

/// Returns the standard deviation with the number of values as divisor, or 0 if there are no values.
pub(crate) fn deviation_of(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let mean = mean_of(values.clone()).unwrap_or_default();
    mean_of(values.map(|value| (value - mean).powi(2))).unwrap_or_default().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_do_not_count_are_left_out() {
        assert_eq!(mean(&[Some(1.0), None, Some(0.5)]), Some(0.75));
        assert_eq!(mean(&[None, None]), None);
        assert_eq!(mean_of([]), None);
    }

    #[test]
    fn deviations_are_over_all_values() {
        assert_eq!(deviation_of([1.0, 3.0, 1.0, 3.0].into_iter()), 1.0);
        assert_eq!(deviation_of([2.5, 2.5].into_iter()), 0.0);
        assert_eq!(deviation_of(std::iter::empty()), 0.0);
    }
}
