//! The sections on features: the weights of linear rankers, the importance of features in tree rankers, and plots of how a
//! tree ranker's mean score depends on its most important features.

use burn_rank::learner::Importance;
use burn_rank::workbench::missing_name;
use burn_rank::workbench::text::shortened;

use super::normalized;
use crate::experiment::{FitReport, PartialDependence};
use crate::number;
use crate::page::{Figure, Html, Table, details, figures, note, section};
use crate::plot::{Dot, Ink, Line, Lines, Row, Rows};

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
        1 => " One feature has weight 0 and is not shown.".to_string(),
        zeros => format!(" {zeros} features have weight 0 and are not shown."),
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
        "{}The gain of a split is the decrease in the loss that its tree expects. Features with the same information \
         share the gain.{unused}{several}",
        numbers(names)
    ));
    section("importance", "Feature importance", figures([plot, Figure::Table(table.html("importance"))]).then(what))
}

fn shares(gain: &[f64]) -> Vec<f64> {
    let total: f64 = gain.iter().sum();
    gain.iter().map(|gain| if total > 0.0 { gain / total } else { 0.0 }).collect()
}

/// Builds the section on partial dependence, with a plot for each feature; it is empty without features. `names` is empty
/// if the features have only numbers.
pub(super) fn partial_dependence(features: &[PartialDependence], names: &[String], normalizer: &str) -> Html {
    let drawn: Vec<&PartialDependence> = features.iter().filter(|found| !found.values.is_empty()).collect();
    if drawn.is_empty() {
        return Html::default();
    }
    // All have one scale upward, so that they can be compared.
    let heights: Vec<f64> = drawn.iter().flat_map(|found| found.scores.iter().copied()).collect();
    let name = |found: &PartialDependence| match names.get(found.feature.wrapping_sub(1)) {
        Some(name) => name.clone(),
        None => format!("feature {}", found.feature),
    };
    let plots = drawn.iter().map(|found| plot(found, in_plot(&name(found)), &heights));
    let what = note(format!(
        "Each plot shows the mean score that a sample of training documents would have if all of them had the same \
         value of the feature. The other features keep their values. The horizontal axis shows quantiles of the \
         feature, {}, so frequent values take more room. If features depend on each other, some of these documents \
         cannot occur in the data.",
        normalized(normalizer)
    ));
    let numbers = details("The numbers", drawn.iter().map(|found| table(found, name(found))).collect());
    section("partial-dependence", "Partial dependence", figures(plots).then(what).then(numbers))
}

fn plot(found: &PartialDependence, name: String, heights: &[f64]) -> Figure {
    let title = format!("mean score by {name}");
    let points = found.scores.iter().enumerate().map(|(place, &score)| ((place + 1) as f64, score)).collect();
    let plot = Lines {
        x_name: name,
        lines: vec![Line { name: "mean score".to_string(), ink: Ink::Train, points }],
        x_labels: Some(found.values.iter().map(|&value| number::figure(f64::from(value))).collect()),
        heights: heights.to_vec(),
        ..Lines::default()
    };
    Figure::new(title, plot, [])
}

fn table(found: &PartialDependence, name: String) -> Html {
    let mut table = Table::new([name.as_str(), "share of documents at most this", "mean score"]);
    let last = (found.values.len() - 1).max(1);
    for (place, (&value, &score)) in found.values.iter().zip(&found.scores).enumerate() {
        // The last of several equal values has the share.
        if found.values.get(place + 1) == Some(&value) {
            continue;
        }
        let share = place as f64 / last as f64;
        table.row(number::figure(f64::from(value)), [number::figure(share), number::figure(score)]);
    }
    if let Some(missing) = &found.missing {
        let of_all = format!("missing in {}", number::figure(missing.share));
        table.row("missing", [of_all, number::figure(missing.score)]);
    }
    table.html(name)
}
