//! The sections on features and positions: the weights of linear rankers, the importance of features
//! in tree rankers, plots of how a tree ranker's mean score depends on its most important features, and the factors of
//! positions.

use burn_rank::learner::{Importance, PositionFactor};
use burn_rank::workbench::missing_name;

use super::*;
use crate::experiment::PartialDependence;

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
    if numbered == 0 {
        return Html::default();
    }
    let names = fits.first().map(|(_, fit)| &fit.feature_names[..]).unwrap_or_default();
    let name = |feature: usize| match feature.checked_sub(numbered) {
        None => named(names, feature + 1),
        Some(column) => missing_name(&named(names, indicated[column])),
    };
    let weights: Vec<Vec<f64>> =
        rankers.iter().map(|(_, weights)| weights.iter().copied().map(f64::from).collect()).collect();
    let order = largest_first(0..numbered + indicated.len(), &weights);

    let (zeros, others): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|feature| weights.iter().all(|weights| weights[**feature] == 0.0));
    let zero = match zeros.len() {
        0 => String::new(),
        1 => " One feature has weight 0 and is not shown.".to_string(),
        zeros => format!(" {zeros} features have weight 0 and are not shown."),
    };
    let row = |feature| (name(feature), weights.iter().map(move |weights| number::figure(weights[feature])));
    let table = Table::new("feature", rankers.iter().map(|(name, _)| *name)).with(others.into_iter().map(row));
    let plot = by_feature("weight", &order, &weights, name);
    let words = format!("Weights apply to features {}.{zero}", normalized(normalizer));
    section("weights", "Feature weights", with_words(plot, table.html("weights"), names, rankers.len(), &words))
}

/// Returns features in descending order of their size in all rankers; `values` has the value of each ranker and
/// feature.
fn largest_first(features: impl Iterator<Item = usize>, values: &[Vec<f64>]) -> Vec<usize> {
    let size = |feature: usize| values.iter().map(|values| values[feature].abs()).sum::<f64>();
    let mut order: Vec<usize> = features.collect();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
    order
}

/// Draws the first features, each with a dot for each ranker.
fn by_feature(what: &str, order: &[usize], values: &[Vec<f64>], name: impl Fn(usize) -> String) -> Figure {
    let title = match order.len() {
        all if all <= DRAWN => format!("{what} by feature"),
        all => format!("{what} by feature, the {DRAWN} largest of {all}"),
    };
    let row = |&feature: &usize| Row {
        name: shortened(&name(feature), NAME),
        dots: values.iter().map(|values| Dot::new(values[feature], Ink::Train)).collect(),
    };
    Figure::new(title, Rows { rows: order.iter().take(DRAWN).map(row).collect(), zero: true }, [])
}

/// Puts the plot next to the table, and says below how features without names are numbered.
fn with_words(plot: Figure, table: Html, names: &[String], rankers: usize, words: &str) -> Html {
    let numbers = if names.is_empty() { "Features are numbered as in the data, from 1. " } else { "" };
    let several = if rankers > 1 { " One dot per fold." } else { "" };
    figures([plot, Figure::Table(table)]).then(note(format!("{numbers}{words}{several}")))
}

/// Returns the name of a feature, or its number if features have no names.
fn named(names: &[String], number: usize) -> String {
    names.get(number.wrapping_sub(1)).cloned().unwrap_or_else(|| number.to_string())
}

/// Builds the section for several rankers that use the same features; it is empty if there are none. `names` is empty
/// if the features have only numbers.
pub(super) fn importance(rankers: &[(String, &Importance)], names: &[String]) -> Html {
    let features = rankers.iter().map(|(_, found)| found.gain.len().min(found.splits.len())).min().unwrap_or(0);
    if features == 0 {
        return Html::default();
    }
    let shares: Vec<Vec<f64>> = rankers.iter().map(|(_, found)| shares(&found.gain)).collect();
    let is_used = |feature: &usize| rankers.iter().any(|(_, found)| found.splits[*feature] > 0);
    let order = largest_first((0..features).filter(is_used), &shares);
    let plot = by_feature("share of the gain", &order, &shares, |feature| named(names, feature + 1));

    let columns = rankers.iter().flat_map(|(name, _)| {
        let of = |what: &str| if name.is_empty() { what.to_string() } else { format!("{name}, {what}") };
        [of("gain, share"), of("splits")]
    });
    let row = |&feature: &usize| {
        let of_rankers = rankers.iter().zip(&shares);
        let cells = of_rankers.flat_map(move |((_, found), shares)| {
            [number::figure(shares[feature]), number::count(found.splits[feature])]
        });
        (named(names, feature + 1), cells)
    };
    let table = Table::new("feature", columns).with(order.iter().map(row));
    let unused = match features - order.len() {
        0 => String::new(),
        1 => " One feature is in no split.".to_string(),
        some => format!(" {some} features are in no split."),
    };
    let words = format!(
        "The gain of a split is the decrease in the loss that its tree expects. Features with the same information \
         share the gain.{unused}"
    );
    let content = with_words(plot, table.html("importance"), names, rankers.len(), &words);
    section("importance", "Feature importance", content)
}

fn shares(gain: &[f64]) -> Vec<f64> {
    let total: f64 = gain.iter().sum();
    gain.iter().map(|gain| if total > 0.0 { gain / total } else { 0.0 }).collect()
}

/// Builds the section on partial dependence, with a plot for each feature; it is empty without features. `names` is
/// empty if the features have only numbers.
pub(super) fn partial_dependence(features: &[PartialDependence], names: &[String], normalizer: &str) -> Html {
    let drawn: Vec<&PartialDependence> = features.iter().filter(|found| !found.values.is_empty()).collect();
    if drawn.is_empty() {
        return Html::default();
    }
    // All have one scale upward, so that they can be compared.
    let heights: Vec<f64> = drawn.iter().flat_map(|found| found.scores.iter().copied()).collect();
    let name = |found: &PartialDependence| {
        names.get(found.feature.wrapping_sub(1)).cloned().unwrap_or_else(|| format!("feature {}", found.feature))
    };
    let plots = drawn.iter().map(|found| plot(found, shortened(&name(found), NAME), &heights));
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
    let mut table = Table::new(name.as_str(), ["share of documents at most this", "mean score"]);
    let last = (found.values.len() - 1).max(1);
    let points = found.values.iter().zip(&found.scores).enumerate();
    // The last of several equal values has the share.
    for (place, (&value, &score)) in points.filter(|(place, (value, _))| found.values.get(place + 1) != Some(*value)) {
        let share = place as f64 / last as f64;
        table.row(number::figure(f64::from(value)), [number::figure(share), number::figure(score)]);
    }
    if let Some(missing) = &found.missing {
        let of_all = format!("missing in {}", number::figure(missing.share));
        table.row("missing", [of_all, number::figure(missing.score)]);
    }
    table.html(name)
}

/// Builds the section on the factors of positions. `fits` are fits on the same kind of data, each with its name and its
/// factors. The section is empty if no fit has factors. A position that a fit lacks has no value there.
pub(super) fn positions(fits: &[(String, &[PositionFactor])]) -> Html {
    let with: Vec<_> = fits.iter().filter(|(_, found)| !found.is_empty()).collect();
    let Some((_, longest)) = with.iter().max_by_key(|(_, found)| found.len()) else { return Html::default() };
    let titles = with.iter().flat_map(|(name, _)| [format!("{name}, documents"), format!("{name}, factor")]);
    let titles: Vec<String> = match with[..] {
        [_] => vec!["documents".to_owned(), "factor".to_owned()],
        _ => titles.collect(),
    };
    let rows = longest.iter().map(|PositionFactor { position, .. }| {
        let cells = with.iter().flat_map(move |(_, found)| {
            let found = found.iter().find(|found| found.position == *position);
            let factor = found.map_or(f64::NAN, |found| found.factor);
            [number::count(found.map_or(0, |found| found.documents)), number::figure(factor)]
        });
        (position.as_str(), cells)
    });
    let table = Table::new("position", titles).with(rows);
    let about = note(
        "In training, the factor of its position was added to the score of each document. The ranker has no factors. \
         Only differences between factors count for most losses.",
    );
    section("positions", "Positions", table.html("positions").then(about))
}
