//! The section on the weights of linear rankers.

use burn_rank::workbench::missing_name;
use burn_rank::workbench::text::shortened;

use super::normalized;
use crate::experiment::FitReport;
use crate::number;
use crate::page::{Figure, Html, Table, figures, note, section};
use crate::plot::{Dot, Ink, Row, Rows};

/// The number of features that the plot shows.
const DRAWN: usize = 20;

/// The number of characters of a feature's name that a plot shows.
const NAME: usize = 24;

/// Builds the section for fits with the same features; it is empty if none of them is a linear ranker.
pub(super) fn weights(fits: &[(String, &FitReport)], normalizer: &str) -> Html {
    let rankers: Vec<(&str, &[f32])> =
        fits.iter().filter_map(|(name, fit)| Some((name.as_str(), fit.weights.as_deref()?))).collect();
    let of_features = |fit: &FitReport| Some(fit.weights.as_ref()?.len().saturating_sub(fit.indicated.len()));
    let numbered = fits.iter().filter_map(|(_, fit)| of_features(fit)).min().unwrap_or(0);
    // Folds may lack other features: then there are no columns of all.
    let indicated = fits.first().map(|(_, fit)| &fit.indicated[..]).unwrap_or_default();
    let indicated = if fits.iter().all(|(_, fit)| fit.indicated == indicated) { indicated } else { &[] };
    let features = numbered + indicated.len();
    if numbered == 0 {
        return Html::default();
    }
    let names = fits.first().map(|(_, fit)| &fit.feature_names[..]).unwrap_or_default();
    let name = |feature: usize| match feature.checked_sub(numbered) {
        None => named(names, feature + 1),
        Some(column) => missing_name(&named(names, indicated[column])),
    };
    let size = |feature: usize| rankers.iter().map(|(_, weights)| f64::from(weights[feature].abs())).sum::<f64>();
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));

    let row = |&feature: &usize| {
        let dot = |(_, weights): &(&str, &[f32])| Dot::new(f64::from(weights[feature]), Ink::Train);
        Row { name: in_plot(&name(feature)), dots: rankers.iter().map(dot).collect() }
    };
    let plot = by_feature("weight", order.iter().map(row));

    let mut table = Table::new(["feature"].into_iter().chain(rankers.iter().map(|(name, _)| *name)));
    let is_zero = |feature: &usize| rankers.iter().all(|(_, weights)| weights[*feature] == 0.0);
    let zeros = order.iter().filter(|feature| is_zero(feature)).count();
    let zero = match zeros {
        0 => String::new(),
        1 => " One feature has the weight 0 and is not shown.".to_string(),
        zeros => format!(" {zeros} features have the weight 0 and are not shown."),
    };
    for &feature in order.iter().filter(|feature| !is_zero(feature)) {
        let cells = rankers.iter().map(|(_, weights)| number::figure(f64::from(weights[feature])));
        table.row(name(feature), cells);
    }
    let several = if rankers.len() > 1 { " One dot per fold." } else { "" };
    let normalized = normalized(normalizer);
    let what = note(format!("{}Weights apply to features {normalized}.{zero}{several}", numbers(names)));
    section("weights", "Feature weights", figures([plot, Figure::Table(table.html("weights"))]).then(what))
}

/// Returns the name of a feature, or its number if features have no names.
pub(super) fn named(names: &[String], number: usize) -> String {
    names.get(number.wrapping_sub(1)).cloned().unwrap_or_else(|| number.to_string())
}

/// Returns the name of a feature as it fits into a plot.
pub(super) fn in_plot(name: &str) -> String {
    shortened(name, NAME)
}

/// Says how features without names are numbered.
pub(super) fn numbers(names: &[String]) -> &'static str {
    if names.is_empty() { "Features are numbered as in the data, from 1. " } else { "" }
}

/// Draws the first rows, one for each feature.
pub(super) fn by_feature(what: &str, rows: impl ExactSizeIterator<Item = Row>) -> Figure {
    let title = match rows.len() {
        all if all <= DRAWN => format!("{what} by feature"),
        all => format!("{what} by feature, the {DRAWN} largest of {all}"),
    };
    Figure::new(title, Rows { rows: rows.take(DRAWN).collect(), zero: true }, [])
}
