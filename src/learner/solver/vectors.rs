//! Vectors in `f64`, and products with the transposed feature matrix.

use rayon::prelude::*;

use crate::data::RankingDataset;
use crate::interleaved;
use crate::op::Execution;

/// Number of queries that one task adds up. It is fixed, so that sums have the same order whatever the number of
/// threads.
const QUERIES_PER_TASK: usize = 16;

/// `a . b`
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    interleaved::sum(a.len().min(b.len()), |i| a[i] * b[i])
}

/// `target += factor * row`
pub(crate) fn add_scaled(target: &mut [f64], factor: f64, row: &[f64]) {
    target.iter_mut().zip(row).for_each(|(t, &x)| *t += factor * x);
}

/// `sum_d c_d x_d` over all documents.
pub(crate) fn weighted_features(data: &RankingDataset, coefficients: &[f64]) -> Vec<f64> {
    let part = |first: usize| {
        let mut sum = vec![0.0; data.feature_count];
        let last = (first + QUERIES_PER_TASK).min(data.queries());
        let documents = data.offsets[first]..data.offsets[last];
        for (document, &factor) in documents.clone().zip(&coefficients[documents]) {
            if factor != 0.0 {
                sum.iter_mut().zip(data.row(document)).for_each(|(s, &x)| *s += factor * f64::from(x));
            }
        }
        sum
    };
    let starts: Vec<usize> = (0..data.queries()).step_by(QUERIES_PER_TASK).collect();
    let parts: Vec<Vec<f64>> = starts.into_par_iter().map(Execution::current().bind(part)).collect();
    let mut total = vec![0.0; data.feature_count];
    parts.iter().for_each(|part| add_scaled(&mut total, 1.0, part));
    total
}

/// Documents `0..scores.len()` by descending score, equal scores in their given order.
pub(crate) fn descending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;

    #[test]
    fn products_agree_with_hand_sums() {
        let data = dataset(2, &[&[(0.0, &[1.0, 2.0]), (1.0, &[0.0, -1.0])], &[(2.0, &[3.0, 0.5])]]);
        assert_eq!(weighted_features(&data, &[1.0, -2.0, 10.0]), [31.0, 9.0]);
        let ramp: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(dot(&ramp, &ramp), 2109.0);
        assert_eq!(descending(&[1.0, 3.0, 1.0, 2.0]), [1, 3, 0, 2]);
    }
}
