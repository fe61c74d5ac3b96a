//! Properties of every measure, whatever the scores and labels.

use burn_rank::measure::{Convention, Measure, Ranking};
use burn_rank::workbench::FAMILIES;
use proptest::prelude::*;

/// Returns every family, without a cut-off and with one.
fn measures() -> Vec<Measure> {
    let names = FAMILIES.iter().flat_map(|family| [family.name.to_string(), format!("{}@3", family.name)]);
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Draws lists of fewer than 20 documents with grades 0 to 4 and many tied scores.
fn lists() -> impl Strategy<Value = Vec<(f32, f32)>> {
    prop::collection::vec(((0i8..8).prop_map(f32::from), (0u8..5).prop_map(f32::from)), 1..20)
}

fn value(measure: Measure, convention: &Convention, list: &[(f32, f32)]) -> Option<f64> {
    let (scores, labels): (Vec<f32>, Vec<f32>) = list.iter().copied().unzip();
    measure.query(&Ranking { scores: &scores, labels: &labels, ids: None }, convention).unwrap()
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs().max(1.0),
        (a, b) => a == b,
    }
}

proptest! {
    #[test]
    fn values_lie_in_their_range(list in lists()) {
        for measure in measures() {
            for preset in ["standard", "letor", "sklearn", "lightgbm", "rax"] {
                let Some(value) = value(measure, &Convention::preset(preset).unwrap(), &list) else { continue };
                let (low, high) = match measure {
                    Measure::Dcg(_) => (0.0, f64::MAX),
                    Measure::KendallTau => (-1.0, 1.0),
                    _ => (0.0, 1.0),
                };
                prop_assert!(value >= low - 1e-12 && value <= high + 1e-12, "{} {}: {}", preset, measure, value);
            }
        }
    }

    #[test]
    fn the_order_of_the_file_does_not_matter_where_ties_are_averaged(list in lists(), shift in 0usize..20) {
        let mut moved = list.clone();
        moved.rotate_left(shift % list.len());
        moved.reverse();
        for measure in measures() {
            let convention = Convention::default();
            prop_assert!(close(value(measure, &convention, &list), value(measure, &convention, &moved)), "{}", measure);
        }
    }

    #[test]
    fn only_the_order_of_the_scores_matters(list in lists()) {
        let stretched: Vec<(f32, f32)> = list.iter().map(|(score, label)| (score.powi(3) - 40.0, *label)).collect();
        for measure in measures() {
            for preset in ["standard", "letor", "sklearn"] {
                let convention = Convention::preset(preset).unwrap();
                prop_assert_eq!(value(measure, &convention, &list), value(measure, &convention, &stretched));
            }
        }
    }

    #[test]
    fn swapping_neighbors_into_the_right_order_lowers_no_measure(
        labels in prop::collection::vec((0u8..5).prop_map(f32::from), 2..12),
        at in 0usize..11,
    ) {
        let at = at % (labels.len() - 1);
        let mut better: Vec<(f32, f32)> = labels.iter().enumerate().map(|(rank, label)| (-(rank as f32), *label)).collect();
        let worse = better.clone();
        if better[at].1 < better[at + 1].1 {
            (better[at].1, better[at + 1].1) = (better[at + 1].1, better[at].1);
        }
        for measure in measures() {
            let convention = Convention::default();
            if let (Some(worse), Some(better)) = (value(measure, &convention, &worse), value(measure, &convention, &better)) {
                prop_assert!(better >= worse - 1e-12, "{}: {} to {}", measure, worse, better);
            }
        }
    }

    #[test]
    fn a_cutoff_beyond_the_list_is_no_cutoff(list in lists()) {
        for family in ["ndcg", "dcg", "map", "recall", "mrr", "success", "err"] {
            let convention = Convention::default();
            let whole = value(family.parse().unwrap(), &convention, &list);
            prop_assert_eq!(value(format!("{family}@20").parse().unwrap(), &convention, &list), whole);
        }
    }

    #[test]
    fn the_ideal_order_has_ndcg_one(list in lists()) {
        let ideal: Vec<(f32, f32)> = list.iter().map(|(_, label)| (*label, *label)).collect();
        for k in [None, Some(1), Some(3)] {
            let found = value(Measure::Ndcg(k), &Convention::default(), &ideal);
            prop_assert!(found.is_none_or(|ndcg| (ndcg - 1.0).abs() < 1e-12), "{:?}", found);
        }
    }
}
