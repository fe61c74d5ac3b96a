//! Vectors in `f64`.

use crate::interleaved;

/// Returns `a . b`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    interleaved::sum(a.len().min(b.len()), |i| a[i] * b[i])
}

/// Adds `factor * row` to `target`.
pub(crate) fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
    target.iter_mut().zip(row).for_each(|(t, &x)| *t += factor * x);
}

/// Returns the indices `0..scores.len()` sorted by descending score; equal scores keep their order.
pub(crate) fn descending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_orders_agree_with_hand_sums() {
        let ramp: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(dot(&ramp, &ramp), 2109.0);
        assert_eq!(descending(&[1.0, 3.0, 1.0, 2.0]), [1, 3, 0, 2]);
    }
}
