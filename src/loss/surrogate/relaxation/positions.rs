//! Sums of smooth steps in place of ranks.

use super::relaxed::{Form, PairSteps, Positions};
use crate::loss::lists::Lists;
use crate::op::Step;

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
