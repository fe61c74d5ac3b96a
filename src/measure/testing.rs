use super::{Convention, Measure, Ranking, Ties};

/// Computes the measure for one query, and panics if it has no value.
pub(super) fn value(measure: Measure, convention: &Convention, scores: &[f32], labels: &[f32]) -> f64 {
    let ranking = Ranking { scores, labels, ids: None };
    measure.query(&ranking, convention).unwrap().expect("the query is not empty")
}

#[track_caller]
pub(super) fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "found {found}, expected {expected}");
}

/// Scores and labels of lists of up to seven documents, with tied groups of every size.
const LISTS: &[(&[f32], &[f32])] = &[
    (&[1.0, 1.0], &[0.0, 1.0]),
    (&[0.0, 0.0, 0.0], &[1.0, 2.0, 0.0]),
    (&[2.0, 1.0, 1.0, 1.0], &[0.0, 1.0, 0.0, 3.0]),
    (&[2.0, 2.0, 2.0, 1.0, 1.0], &[0.0, 0.0, 0.0, 4.0, 1.0]),
    (&[3.0, 3.0, 2.0, 1.0, 1.0, 1.0], &[1.0, 0.0, 2.0, 2.0, 0.0, 1.0]),
    (&[0.5, 0.5, 0.5, 0.5, 0.5, 0.5], &[0.0, 0.0, 1.0, 0.0, 3.0, 1.0]),
    (&[2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 1.0], &[0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 4.0]),
    (&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, f32::NEG_INFINITY], &[0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0]),
];

/// Compares the closed form under averaged ties with the plain mean over all orders of the documents. Every order
/// counts once, so each arrangement of the tied documents has the same weight.
#[track_caller]
pub(super) fn assert_expectation_is_the_mean_of_all_orders(measure: Measure) {
    let averaged = Convention::default();
    let in_order = Convention { ties: Ties::FileOrder, ..Convention::default() };
    for (scores, labels) in LISTS {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        let (mut sum, mut orders) = (0.0, 0);
        for_each_order(&mut order, 0, &mut |order| {
            let scores: Vec<f32> = order.iter().map(|&at| scores[at]).collect();
            let labels: Vec<f32> = order.iter().map(|&at| labels[at]).collect();
            // Strictly falling scores, so that a pair measure does not apply its own rule for equal scores.
            let mut by_score: Vec<usize> = (0..scores.len()).collect();
            by_score.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            let mut distinct = vec![f32::NEG_INFINITY; scores.len()];
            for (rank, &at) in by_score.iter().enumerate().filter(|(_, at)| scores[**at] > f32::NEG_INFINITY) {
                distinct[at] = -(rank as f32);
            }
            sum += value(measure, &in_order, &distinct, &labels);
            orders += 1;
        });
        let (found, expected) = (value(measure, &averaged, scores, labels), sum / f64::from(orders));
        assert!((found - expected).abs() < 1e-12, "{measure} of {scores:?} {labels:?}: {found}, all orders {expected}");
    }
}

/// Calls `visit` with every arrangement of the entries of `order` from index `fixed` on. The entries before `fixed`
/// stay in place.
fn for_each_order(order: &mut Vec<usize>, fixed: usize, visit: &mut impl FnMut(&[usize])) {
    if fixed == order.len() {
        return visit(order);
    }
    for at in fixed..order.len() {
        order.swap(fixed, at);
        for_each_order(order, fixed + 1, visit);
        order.swap(fixed, at);
    }
}
