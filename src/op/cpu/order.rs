//! Descending order of values that are mostly small whole numbers, as labels and their gains are: counted then, sorted
//! else.

use super::real::Real;

/// Whole numbers below this are counted.
const LEVELS: usize = 64;

/// How often each whole number occurs; `None` where there is any other value.
fn counts<T: Real>(values: impl Iterator<Item = T>) -> Option<[usize; LEVELS]> {
    let mut counts = [0; LEVELS];
    for value in values {
        counts[level(value)?] += 1;
    }
    Some(counts)
}

fn level<T: Real>(value: T) -> Option<usize> {
    let level = value.to_f64() as usize;
    (level < LEVELS && T::of(level as f64) == value).then_some(level)
}

/// The values in descending order, each with how many of them follow one another.
pub(super) fn runs<T: Real>(values: impl Iterator<Item = T> + Clone) -> Vec<(T, usize)> {
    if let Some(counts) = counts(values.clone()) {
        let runs = counts.iter().enumerate().rev().filter(|(_, count)| **count > 0);
        return runs.map(|(level, &count)| (T::of(level as f64), count)).collect();
    }
    let mut values: Vec<T> = values.collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    values.into_iter().map(|value| (value, 1)).collect()
}

/// `members` in descending order of their values, equal ones as they were.
pub(super) fn by_descending_value<T: Real>(members: &mut Vec<usize>, values: &[T]) {
    let Some(counts) = counts(members.iter().map(|&i| values[i])) else {
        // Adding 0 makes the two zeros one.
        return members.sort_by(|&i, &j| (values[j] + T::ZERO).total_cmp(&(values[i] + T::ZERO)));
    };
    let mut starts = [0; LEVELS];
    for level in (0..LEVELS - 1).rev() {
        starts[level] = starts[level + 1] + counts[level + 1];
    }
    let mut ordered = vec![0; members.len()];
    for &member in members.iter() {
        let start = &mut starts[values[member].to_f64() as usize];
        ordered[*start] = member;
        *start += 1;
    }
    *members = ordered;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_and_sorting_agree() {
        let labels = [0.0f32, 2.0, 63.0, 1.0, 2.0, -0.0, 0.0, 1.0];
        for scale in [1.0, 0.5, 100.0] {
            let values = labels.map(|label| label * scale);
            let ordered: Vec<f32> =
                runs(values.into_iter()).into_iter().flat_map(|(value, count)| vec![value; count]).collect();
            assert_eq!(ordered, [63.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0].map(|label| label * scale));
            let mut members = vec![0, 1, 2, 3, 4, 5, 6, 7];
            by_descending_value(&mut members, &values);
            assert_eq!(members, [2, 1, 4, 3, 7, 0, 5, 6]);
        }
    }

    #[test]
    fn negative_and_infinite_values_are_sorted() {
        let found = runs([-1.0f64, f64::INFINITY, 3.0, 64.0].into_iter());
        assert_eq!(found, [(f64::INFINITY, 1), (64.0, 1), (3.0, 1), (-1.0, 1)]);
    }
}
