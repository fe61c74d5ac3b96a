//! Computes [`ideal_dcg`](crate::op::ideal_dcg()) by sorting the gains.

use super::order::runs;
use super::parallel::for_each;
use super::real::Real;

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
    use super::ideal_dcg;

    #[test]
    fn gains_meet_discounts_in_descending_order() {
        let gains = [1.0f64, 3.0, 7.0, 0.5, 9.0, -1.0];
        assert_eq!(
            ideal_dcg(&gains, &[1.0, 1.0, 1.0, 1.0, 0.0, 1.0], &[1.0, 0.5, 0.25]),
            [7.0 + 1.5 + 0.25, 0.5 - 0.5]
        );
    }
}
