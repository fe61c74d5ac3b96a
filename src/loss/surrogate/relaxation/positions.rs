//! Relaxations that replace ranks with positions: sums of smooth steps, and projected ranks.
//!
//! Projected ranks are the point of the permutahedron that is nearest to `-s / sigma` (Blondel et al., Fast
//! differentiable sorting and ranking, with quadratic regularization). The permutahedron is the convex hull of all
//! permutations of the ranks 1 to n.
//!
//! Let `z = -s / sigma`, in descending order of the scores. The position at rank `r` is `z_r - v_r`, where `v` is the
//! isotonic regression of `z_r - r`: the increasing sequence with the smallest squared distance. The isotonic
//! regression is constant in blocks, where it equals the mean of `z_r - r` over the block. The gradient passes through
//! the means of the blocks. It treats the bounds of the blocks as constants. If neighboring scores are more than
//! `sigma` apart, the positions equal the ranks and have no gradient.
//!
//! The value `v_r` is `max_{a <= r} min_{b >= r}` of the mean from `a` to `b`. Tensor operations compute `v_r` in
//! O(n^2) time and memory, without reading anything back from the device. Pooling adjacent violators would take O(n)
//! time, but it must process the documents one after another.

use burn::tensor::{DType, Tensor};

use super::relaxed::{Form, PairSteps, Positions};
use crate::loss::lists::{Lists, ones_before, order_of_ranks, places_like};
use crate::op::{Step, differences};

/// Replaces ranks with approximate positions, `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))` (approximation-framework,
/// equation 20). `beta` is the steepness of the truncation function of section 4.3.
pub(super) fn approximate(lists: &Lists, alpha: f64, beta: f64, step: Step) -> Form {
    // A position is a sum of steps between scores, so a pair is such a step.
    let pairs = PairSteps { by: lists.scores.clone(), steepness: alpha, step };
    Form::Positions(Positions { pairs, ..Positions::new(lists.approximate_positions(alpha, step), beta) })
}

/// Replaces ranks with sigmoid ranks, `r_i = 1 + sum_{j != i} T_ij` with `T_ij = sigmoid((s_j - s_i) / sigma)`
/// (smoothrank, equations 4, 5 and 9). The comparison of two documents is `T_ij` itself, not a sigmoid of the
/// difference between their ranks. `diagonal` is a document's own term `T_ii`. With 1, the indicator is exact; 0.5 is
/// the value in the paper.
pub(super) fn sigmoid_ranks(lists: &Lists, sigma: f64, diagonal: f64) -> Form {
    let steepness = 1.0 / sigma;
    Form::Positions(Positions {
        positions: lists.approximate_positions(steepness, Step::Logistic),
        cutoff: steepness,
        order: lists.scores.clone(),
        comparison: steepness,
        own: diagonal,
        pairs: PairSteps { by: lists.scores.clone(), steepness, step: Step::Logistic },
    })
}

/// Replaces ranks with projected ranks. `sigma` is the strength of the regularization, in scores per rank. The
/// surrogate equals the measure if `sigma` is smaller than all differences between neighboring scores and `beta` is
/// large.
pub(super) fn projected_ranks(lists: &Lists, sigma: f64, beta: f64) -> Form {
    let ranks = lists.ranks();
    let order = order_of_ranks(ranks.clone());
    let mask = lists.mask.clone().gather(1, order.clone());
    let z = lists.centered().gather(1, order) * (-1.0 / sigma);
    let index = places_like(&z);
    let near = with_limited_gaps(z.clone().detach(), &mask);
    let means = block_means(near - index.clone(), mask);
    let mean = |x: Tensor<2>| -> Tensor<2> { means.clone().matmul(x.unsqueeze_dim::<3>(2)).squeeze_dim(2) };
    let positions = z.clone() - mean(z) + mean(index);
    let positions = positions.gather(1, (ranks - 1.0).int()).mask_fill(lists.padded.clone(), 1.0);
    Form::Positions(Positions::new(positions, beta))
}

/// Limits the gaps between neighbors of `z`, `[B, N]`, which ascends, to the number of documents of the list. Lists
/// without a larger gap stay as they are. No block spans a gap of more than half that number, so the blocks stay the
/// same. With far scores, the values of all others would be rounded to few digits.
fn with_limited_gaps(z: Tensor<2>, mask: &Tensor<2>) -> Tensor<2> {
    let documents = mask.clone().sum_dim(1).expand(z.dims());
    let gaps = z.clone() - ones_before(z.clone());
    let is_far = gaps.clone().greater(documents.clone()).any_dim(1).expand(z.dims());
    z.mask_where(is_far, gaps.min_pair(documents).cumsum(1))
}

/// Returns a matrix, `[B, N, N]`, that averages values within each block of the increasing isotonic regression of `y`.
/// `mask` is 1 at the values of a list, which come first, and 0 at padding.
fn block_means(y: Tensor<2>, mask: Tensor<2>) -> Tensor<3> {
    const FAR: f32 = f32::MAX;
    let [batch, n] = y.dims();
    let square = [batch, n, n];
    let wide = |x: Tensor<2>| x.unsqueeze_dim::<3>(1).expand(square);
    let sums = y.clone().cumsum(1);
    // The mean from a to b, at [.., a, b] with a <= b.
    let total = differences(&sums) + y.clone().unsqueeze_dim::<3>(2);
    let apart = differences(&places_like(&y));
    let before = apart.clone().lower_elem(0.0);
    let outside = before.clone().bool_or(wide(mask.clone()).lower_elem(0.5));
    let averages = (total / (apart.mask_fill(before.clone(), 0.0) + 1.0)).mask_fill(outside, FAR);
    let lowest = averages.flip([2]).cummin(2).flip([2]).mask_fill(before, -FAR);
    let values: Tensor<2> = lowest.max_dim(1).squeeze_dim(1);
    // Values of a block are equal except for rounding.
    let unit = if y.dtype() == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let size: Tensor<3> = (y * mask.clone()).abs().max_dim(1).unsqueeze_dim(2);
    let equal = differences(&values).abs().lower_equal((size * (32.0 * unit)).expand(square));
    let block = equal.float().cast(mask.dtype()) * wide(mask);
    let count = block.clone().sum_dim(2);
    let none = count.clone().equal_elem(0.0);
    block / count.mask_fill(none, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn positions(scores: &[f64], sigma: f64) -> Vec<f64> {
        positions_in(DType::F64, scores, sigma)
    }

    fn positions_in(dtype: DType, scores: &[f64], sigma: f64) -> Vec<f64> {
        let device = Device::flex();
        let scores = Tensor::<1>::from_data(scores, (&device, dtype)).unsqueeze::<2>();
        let lists = Lists::padded(scores.clone(), scores.zeros_like(), scores.ones_like().greater_elem(0.0));
        let Form::Positions(found) = projected_ranks(&lists, sigma, 10.0) else { panic!("positions") };
        found.positions.into_data().iter().collect()
    }

    /// Computes the isotonic regression by pooling adjacent violators.
    fn pooled(y: &[f64]) -> Vec<f64> {
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        for &value in y {
            blocks.push((value, 1));
            while let [.., (first, m), (second, n)] = blocks[..] {
                if first < second {
                    break;
                }
                blocks.truncate(blocks.len() - 2);
                blocks.push(((first * m as f64 + second * n as f64) / (m + n) as f64, m + n));
            }
        }
        blocks.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
    }

    #[test]
    fn positions_are_those_of_the_pooled_regression() {
        let near = [0.31f64, -1.2, 2.5, 0.9, -0.4, 1.7, 0.05, 0.3];
        let far = [0.31f64, -1e4, 2.5, 0.9, -0.4, 8e3, 0.05, 0.3];
        for (scores, dtype, limit) in [(near, DType::F64, 1e-12), (far, DType::F64, 1e-9), (far, DType::F32, 1e-4)] {
            let mut order: Vec<usize> = (0..8).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            for sigma in [0.05, 0.3, 0.7, 1.0, 5.0] {
                let z: Vec<f64> = order.iter().map(|&document| -scores[document] / sigma).collect();
                let y: Vec<f64> = z.iter().zip(1..).map(|(z, rank)| z - f64::from(rank)).collect();
                let found = positions_in(dtype, &scores, sigma);
                for ((z, v), &document) in z.iter().zip(pooled(&y)).zip(&order) {
                    assert!((found[document] - (z - v)).abs() < limit, "{sigma}: {found:?}");
                }
                assert!(
                    (found.iter().sum::<f64>() - 36.0).abs() < limit.max(1e-9) * 8.0,
                    "the permutahedron has one sum"
                );
            }
        }
    }

    #[test]
    fn far_scores_leave_the_blocks_of_the_others() {
        for dtype in [DType::F32, DType::F64] {
            let found = |scores: &[f64]| positions_in(dtype, scores, 1.0 / 64.0);
            assert_eq!(found(&[0.053, 0.0, -1e4]), [1.0, 2.0, 3.0]);
            assert_eq!(found(&[1e4, 0.05, 0.0]), [1.0, 2.0, 3.0]);
            assert_eq!(found(&[0.05, 1e4, 0.0, -1e4]), [2.0, 1.0, 3.0, 4.0]);
            // A block of two, whose scores are half a rank apart.
            assert_eq!(found(&[0.0078125, 0.0, -1e4]), [1.25, 1.75, 3.0]);
            assert_eq!(found(&[0.0078125, 1e4, 0.0]), [2.25, 1.0, 2.75]);
        }
    }

    #[test]
    fn far_scores_have_their_ranks_and_near_ones_the_middle() {
        assert_eq!(positions(&[3.0, 1.0, 2.0], 0.5), [1.0, 3.0, 2.0]);
        for (found, score) in positions(&[0.3, 0.1, 0.2], 1e6).iter().zip([0.3, 0.1, 0.2]) {
            assert!((found - (2.0 - (score - 0.2) / 1e6)).abs() < 1e-9, "{found}");
        }
    }
}
