//! Compares several systems on the same queries, both each pair separately and all pairs together.

use super::settings::{ComparisonConfig, SignificanceError, Tell, at_least, queries};
use super::tukey::tukey_hsd;
use super::{Comparison, compare_telling};

/// Compares every pair of systems. The values are given as `systems[system][query]`, for two or more systems with the
/// same queries in the same order. A query that the convention excludes (`None`) for any system is left out for all
/// systems. The pairs are in the order 0-1, 0-2, 1-2, and so on.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two systems, or fewer than two queries with a value for all
/// systems. Returns [`SignificanceError::Queries`] if systems differ in length, and [`SignificanceError::Value`] for a
/// value or difference that is not finite. Returns the errors of [`ComparisonConfig::check`] as well.
pub fn compare_all(
    systems: &[&[Option<f64>]],
    config: &ComparisonConfig,
) -> Result<Vec<Comparison>, SignificanceError> {
    compare_all_telling(systems, config, &|_| {})
}

/// Does the same as [`compare_all`] and reports progress in samples. Progress counts twice the requested number of
/// samples for each pair.
pub fn compare_all_telling(
    systems: &[&[Option<f64>]],
    config: &ComparisonConfig,
    tell: Tell,
) -> Result<Vec<Comparison>, SignificanceError> {
    at_least(2, "systems", systems.len())?;
    let queries = queries(systems)?;
    let counts = |query: &usize| systems.iter().all(|values| values[*query].is_some());
    let counted: Vec<usize> = (0..queries).filter(counts).collect();
    let values = |system: usize| -> Vec<Option<f64>> { counted.iter().map(|query| systems[system][*query]).collect() };
    let mut tukey = match systems.len() {
        2 => Vec::new(),
        all => tukey_hsd(&(0..all).map(|system| values(system).into_iter().flatten().collect()).collect::<Vec<_>>())?,
    }
    .into_iter();
    let mut pairs = Vec::new();
    for first in 0..systems.len() {
        for second in first + 1..systems.len() {
            let pair = compare_telling([first, second], [&values(first), &values(second)], config, tell)?;
            // `tukey_hsd` gives the pairs in the order of these loops.
            pairs.push(Comparison { tukey: tukey.next(), ..pair });
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;

    const CONFIG: ComparisonConfig = ComparisonConfig { resamples: 100, confidence: 0.95, seed: 0 };

    #[test]
    fn every_pair_is_compared_on_the_queries_that_count_for_all() {
        let a = [Some(0.5), Some(0.25), Some(1.0), None];
        let b = [Some(0.75), None, Some(1.0), None];
        let c = [Some(0.0), Some(0.5), Some(0.5), None];
        let pairs = compare_all(&[&a, &b, &c], &CONFIG).unwrap();
        assert_eq!(pairs.iter().map(|pair| (pair.first, pair.second)).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
        let alone = tukey_hsd(&[vec![0.5, 1.0], vec![0.75, 1.0], vec![0.0, 0.5]]).unwrap();
        for (pair, tukey) in pairs.iter().zip(alone) {
            assert_eq!(pair.queries, 2);
            assert_eq!(pair.tukey, Some(tukey));
            assert_eq!(tukey.mean_difference, pair.mean_difference);
        }
        let two = compare_all(&[&a, &c], &CONFIG).unwrap();
        assert_eq!(two, [compare(&a, &c, &CONFIG).unwrap()]);
    }

    #[test]
    fn bad_input_is_refused() {
        let values = [Some(0.5), Some(0.25)];
        assert!(compare_all(&[&values], &CONFIG).unwrap_err().to_string().contains("found 1 systems"));
        assert!(compare_all(&[&values, &values[..1]], &CONFIG).unwrap_err().to_string().contains("2 and 1 queries"));
    }
}
