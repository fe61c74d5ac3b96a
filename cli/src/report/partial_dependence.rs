//! Plots of how a tree ranker's mean score depends on its most important features.

use super::{in_plot, normalized};
use crate::experiment::PartialDependence;
use crate::number;
use crate::page::{Figure, Html, Table, details, figures, note, section};
use crate::plot::{Ink, Line, Lines};

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
        "Each plot shows the mean score of a sample of training documents if all of them had the same value of the feature. \
         The other features keep their values. The horizontal axis has the quantiles of the feature, {}, so frequent values \
         take more room. If features depend on each other, some of these documents do not exist in the data.",
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
