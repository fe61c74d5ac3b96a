//! Sorts scores, labels and gains in descending order, for [`rank`](crate::op::rank()),
//! [`at_rank`](crate::op::at_rank()), [`ideal_dcg`](crate::op::ideal_dcg()) and other kernels. Values below [`LEVELS`]
//! that are whole numbers, such as most labels and gains, are counted; other values are sorted.

use super::lists::{each_list, for_each};
use super::real::Real;

/// Whole numbers from 0 up to this bound (exclusive) are counted instead of sorted.
const LEVELS: usize = 64;

/// The number of bits per digit of the radix sort, and the smallest number of documents for which radix sort is used.
const DIGIT: u32 = 11;
const LONG: usize = 1024;

/// Returns the documents by descending value; documents with equal values are sorted by index. A long list needs a few
/// passes of radix sort. Each pass sorts by one digit of the values and keeps the order of equal digits (Knuth, The Art
/// of Computer Programming 3, section 5.2.5).
pub(super) fn descending<T: Real>(documents: impl Iterator<Item = (u32, T)>) -> Vec<u32> {
    let mut keys: Vec<T::Key> = documents.map(|(i, value)| value.descending_key(i)).collect();
    if keys.len() < LONG {
        keys.sort_unstable();
    } else {
        sort_digits::<T>(&mut keys);
    }
    keys.into_iter().map(T::index_of).collect()
}

/// Sorts keys by value, and equal values by index; the keys must be given in the order of their indices.
fn sort_digits<T: Real>(keys: &mut Vec<T::Key>) {
    let mut sorted = keys.clone();
    for shift in (0..8 * size_of::<T>() as u32).step_by(DIGIT as usize) {
        let digit = |key: &T::Key| T::digit(*key, shift, DIGIT);
        let mut places = [0; 1 << DIGIT];
        keys.iter().for_each(|key| places[digit(key)] += 1);
        // A digit that all keys share moves nothing.
        if places[digit(&keys[0])] == keys.len() {
            continue;
        }
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        for key in keys.iter() {
            let place = &mut places[digit(key)];
            sorted[*place] = *key;
            *place += 1;
        }
        std::mem::swap(keys, &mut sorted);
    }
}

/// Returns the number of occurrences of each small whole number, or `None` if there is any other value.
fn counts<T: Real>(values: impl Iterator<Item = T>) -> Option<[usize; LEVELS]> {
    let mut counts = [0; LEVELS];
    for value in values {
        counts[level(value)?] += 1;
    }
    Some(counts)
}

fn level<T: Real>(value: T) -> Option<usize> {
    let level = value.to_f64() as usize;
    (level < LEVELS && T::from_f64(level as f64) == value).then_some(level)
}

/// Returns the distinct values in descending order, with the number of occurrences of each. If a value cannot be
/// counted, every element is listed by itself with the number 1.
pub(super) fn runs<T: Real>(values: impl Iterator<Item = T> + Clone) -> Vec<(T, usize)> {
    if let Some(counts) = counts(values.clone()) {
        let runs = counts.iter().enumerate().rev().filter(|(_, count)| **count > 0);
        return runs.map(|(level, &count)| (T::from_f64(level as f64), count)).collect();
    }
    let mut values: Vec<T> = values.collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    values.into_iter().map(|value| (value, 1)).collect()
}

/// Sorts `members` by descending value and keeps the order of equal values.
pub(super) fn by_descending_value<T: Real>(members: &mut Vec<usize>, values: &[T]) {
    let Some(counts) = counts(members.iter().map(|&i| values[i])) else {
        // Adding 0 makes both zeros equal.
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

/// Returns the ranks by descending `x` for lists of `n` documents. Documents with equal values are ranked by index, and
/// padding comes last.
pub fn rank<T: Real>(x: &[T], mask: &[T], n: usize) -> Vec<T> {
    each_list([x, mask], n, x.len() * 64, T::ZERO, |_, [x, mask], out| {
        let documents = (0..).zip(x).filter(|&(i, _)| mask[i as usize] > T::ZERO).map(|(i, &x)| (i, x));
        let padding = (0..n as u32).filter(|&i| mask[i as usize] <= T::ZERO);
        for (rank, i) in descending(documents).into_iter().chain(padding).enumerate() {
            out[i as usize] = T::from_f64((rank + 1) as f64);
        }
    })
}

/// Returns `table[rank - 1]` for each rank, or 0 beyond the table.
pub fn at_rank<T: Real>(ranks: &[T], table: &[f64]) -> Vec<T> {
    let table: Vec<T> = table.iter().map(|&value| T::from_f64(value)).collect();
    let value = |rank: &T| table.get((rank.to_f64() as usize).wrapping_sub(1)).copied().unwrap_or_default();
    ranks.iter().map(value).collect()
}

/// Sorts the gains of each list of `discounts.len()` documents, and returns the sum over all ranks of the gain times
/// the discount.
pub fn ideal_dcg<T: Real>(gains: &[T], mask: &[T], discounts: &[f64]) -> Vec<T> {
    let n = discounts.len();
    let discounts: Vec<T> = discounts.iter().map(|&discount| T::from_f64(discount)).collect();
    let mut out = vec![T::ZERO; gains.len() / n];
    let lists = gains.chunks(n).zip(mask.chunks(n)).zip(&mut out).collect();
    for_each(lists, gains.len() * 16, |((gains, mask), out)| {
        let documents = gains.iter().zip(mask).filter(|(_, mask)| **mask > T::ZERO).map(|(&gain, _)| gain);
        let mut discounts = discounts.as_slice();
        for (gain, count) in runs(documents) {
            let (now, later) = discounts.split_at(count);
            discounts = later;
            // The sum has one addition for each rank of the gain.
            if gain != T::ZERO {
                *out = now.iter().fold(*out, |sum, &discount| sum + gain * discount);
            }
        }
    });
    out
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
    fn long_and_short_lists_have_one_order() {
        fn check<T: Real>(of: impl Fn(usize) -> f64) {
            let values: Vec<T> = (0..3 * LONG).map(|i| T::from_f64(of(i))).collect();
            let mut keys: Vec<T::Key> = (0..).zip(&values).map(|(i, x)| x.descending_key(i)).collect();
            keys.sort_unstable();
            let expected: Vec<u32> = keys.into_iter().map(T::index_of).collect();
            assert!(descending((0..).zip(values)) == expected);
        }
        let sine = |i: usize| (i as f64 * 12.9898).sin();
        for scale in [1e-30, 1.0, 1e30] {
            check::<f32>(|i| scale * sine(i));
            check::<f64>(|i| scale * sine(i));
        }
        check::<f32>(|i| (i % 7) as f64);
        check::<f32>(|i| [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-40, -1e-40, 2.5][i * 5 % 7]);
        check::<f32>(|_| 1.5);
    }

    #[test]
    fn negative_and_infinite_values_are_sorted() {
        let found = runs([-1.0f64, f64::INFINITY, 3.0, 64.0].into_iter());
        assert_eq!(found, [(f64::INFINITY, 1), (64.0, 1), (3.0, 1), (-1.0, 1)]);
    }

    #[test]
    fn ties_go_by_index_and_padding_comes_last() {
        let x = [1.0f32, 3.0, 0.0, -0.0, 9.0, 1.0];
        let mask = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0];
        assert_eq!(rank(&x, &mask, 6), [2.0, 1.0, 4.0, 5.0, 6.0, 3.0]);
        assert_eq!(rank(&x[..4], &[1.0; 4], 2), [2.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn gains_meet_discounts_in_descending_order() {
        let gains = [1.0f64, 3.0, 7.0, 0.5, 9.0, -1.0];
        assert_eq!(
            ideal_dcg(&gains, &[1.0, 1.0, 1.0, 1.0, 0.0, 1.0], &[1.0, 0.5, 0.25]),
            [7.0 + 1.5 + 0.25, 0.5 - 0.5]
        );
    }
}
