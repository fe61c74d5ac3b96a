//! The section on the importance of features in tree rankers.

use burn_rank::learner::Importance;

use super::in_plot;
use super::weights::{by_feature, named, numbers};
use crate::number;
use crate::page::{Figure, Html, Table, figures, note, section};
use crate::plot::{Dot, Ink, Row};

/// Builds the section for several rankers that use the same features; it is empty if there are none. `names` is empty if
/// the features have only numbers.
pub(super) fn importance(rankers: &[(String, &Importance)], names: &[String]) -> Html {
    let features = rankers.iter().map(|(_, found)| found.gain.len().min(found.splits.len())).min().unwrap_or(0);
    if features == 0 {
        return Html::default();
    }
    let shares: Vec<Vec<f64>> = rankers.iter().map(|(_, found)| shares(&found.gain)).collect();
    let size = |feature: usize| shares.iter().map(|shares| shares[feature]).sum::<f64>();
    let mut order: Vec<usize> =
        (0..features).filter(|&f| rankers.iter().any(|(_, found)| found.splits[f] > 0)).collect();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));

    let row = |&feature: &usize| {
        let dots = shares.iter().map(|shares| Dot::new(shares[feature], Ink::Train)).collect();
        Row { name: in_plot(&named(names, feature + 1)), dots }
    };
    let plot = by_feature("share of the gain", order.iter().map(row));

    let columns = rankers.iter().flat_map(|(name, _)| {
        let of = |what: &str| if name.is_empty() { what.to_string() } else { format!("{name}, {what}") };
        [of("gain, share"), of("splits")]
    });
    let mut table = Table::new(["feature".to_string()].into_iter().chain(columns));
    for &feature in &order {
        let cells = rankers
            .iter()
            .zip(&shares)
            .flat_map(|((_, found), shares)| [number::figure(shares[feature]), number::count(found.splits[feature])]);
        table.row(named(names, feature + 1), cells);
    }
    let several = if rankers.len() > 1 { " One dot per fold." } else { "" };
    let unused = match features - order.len() {
        0 => String::new(),
        some => format!(
            " {} in no split.",
            if some == 1 { "One feature is".into() } else { format!("{some} features are") }
        ),
    };
    let what = note(format!(
        "{}The gain of a split is the decrease of the loss that its tree expects. Features with the same information share \
         the gain.{unused}{several}",
        numbers(names)
    ));
    section("importance", "Feature importance", figures([plot, Figure::Table(table.html("importance"))]).then(what))
}

fn shares(gain: &[f64]) -> Vec<f64> {
    let total: f64 = gain.iter().sum();
    gain.iter().map(|gain| if total > 0.0 { gain / total } else { 0.0 }).collect()
}
