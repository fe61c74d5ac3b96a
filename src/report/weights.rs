//! Weights of linear rankers.

use super::html::{Html, Table, figure, figures, note, section};
use super::number;
use crate::plot::{Dot, Ink, Row, Rows};

/// Number of features that are drawn.
const DRAWN: usize = 20;

/// Builds the section on the weights of one or more rankers of the same features; empty if there are none.
pub(super) fn weights(rankers: &[(String, &[f32])], normalizer: &str) -> Html {
    let features = rankers.iter().map(|(_, weights)| weights.len()).min().unwrap_or(0);
    if features == 0 {
        return Html::default();
    }
    let size = |feature: usize| rankers.iter().map(|(_, weights)| f64::from(weights[feature].abs())).sum::<f64>();
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));

    let row = |&feature: &usize| {
        let dot = |(_, weights): &(String, &[f32])| Dot::new(f64::from(weights[feature]), Ink::Train);
        Row { name: (feature + 1).to_string(), dots: rankers.iter().map(dot).collect() }
    };
    let drawn: Vec<Row> = order.iter().take(DRAWN).map(row).collect();
    let title = match drawn.len() {
        all if all == features => "weight by feature".to_string(),
        some => format!("weight by feature, the {some} largest of {features}"),
    };
    let plot = figure(title.clone(), Rows { label: title, rows: drawn, zero: true }.svg(), &[]);

    let named = rankers.iter().map(|(name, _)| name.as_str());
    let mut table = Table::new("weights", ["feature"].into_iter().chain(named));
    for &feature in &order {
        let cells = rankers.iter().map(|(_, weights)| number::figure(f64::from(weights[feature])));
        table.row((feature + 1).to_string(), cells);
    }
    let several = if rankers.len() > 1 { " One dot per fold." } else { "" };
    let normalized = match normalizer {
        "none" => "as they are in the data".to_string(),
        normalizer => format!("normalized by {normalizer}"),
    };
    let what =
        note(format!("Features are numbered as in the data, from 1; weights apply to features {normalized}.{several}"));
    section("weights", "Feature weights", figures([plot, table.html()]).then(what))
}
