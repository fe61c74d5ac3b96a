//! The results of a cross-validation, as `cv --json` prints them, and the standing of the points of a grid.

use burn_rank::json::{Map, Value};
use burn_rank::learner::StopReason;
use burn_rank::measure::Convention;
use serde::{Deserialize, Serialize};

use super::report::{CrossValidationReport, mean, merit, standard_error};
use crate::experiment::config::Rung;
use crate::experiment::config::grid::names_of_labels;

/// The value of each measure, in the order of the configuration; `null` if a measure has no value.
pub type Measures = Map;

/// How a search drew and fitted its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchReport {
    /// `random` or `successive_halving`.
    pub kind: String,
    /// The number of trials per fold.
    pub trials: usize,
    /// The rungs of successive halving.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
}

/// One trial of a search in one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the trial, counted from 1.
    pub trial: usize,
    /// The value that the trial drew for each key.
    pub values: Map,
    /// The selection measure on validation queries at the trial's best round, averaged over seeds.
    pub validation: Option<f64>,
    /// The maximum, over the trial's seeds, of the number of rounds completed.
    pub rounds: usize,
    /// With successive halving, the selection measure at the end of every rung that the trial reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Option<f64>>,
}

/// The result of the grid point or trial that a fold selected, averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldResult {
    /// The number of the fold, counted from 1.
    pub fold: usize,
    /// The grid point or the trial with the best validation measure.
    pub selected: String,
    /// The selection measure on validation queries. If there are none, the measure on training queries is used (see
    /// [`selected_on`](CrossValidation::selected_on)).
    pub validation: f64,
    /// The measures on test queries.
    pub measures: Measures,
    /// The standard error of each measure over the fold's test queries.
    pub standard_errors: Measures,
    /// The reason why each fit ended, one per seed; absent in older results.
    #[serde(default)]
    pub stops: Vec<StopReason>,
    /// Every trial of a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
}

/// The table of results from a cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Name of the experiment.
    pub name: String,
    /// The convention by which all measures are computed.
    pub convention: Convention,
    /// The number of test queries in all folds.
    pub queries: usize,
    /// The number of test queries without a relevant document.
    pub empty_queries: usize,
    /// The mean of each test measure over the folds, as in published tables.
    pub measures: Measures,
    /// The standard error of each mean: the standard deviation over all test queries, divided by the square root of
    /// their number.
    pub standard_errors: Measures,
    /// The seeds over which results are averaged.
    pub seeds: Vec<u64>,
    /// The result of each fold.
    pub folds: Vec<FoldResult>,
    /// The queries on which settings and rounds are selected: `validation`, or `training` if there are no validation
    /// queries.
    #[serde(default = "validation")]
    pub selected_on: String,
    /// How a search drew and fitted its trials; `None` without a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchReport>,
}

impl FoldResult {
    /// Returns the trials, beginning with the selected one. The others are sorted by the rung at which they were
    /// dropped, with the latest rung first. Within a rung, they are sorted by quality, then by number.
    pub fn ranked_trials(&self) -> Vec<&Trial> {
        let merit = |trial: &Trial| trial.validation.unwrap_or(f64::NEG_INFINITY);
        let mut trials: Vec<&Trial> = self.trials.iter().collect();
        trials.sort_by(|a, b| b.rungs.len().cmp(&a.rungs.len()).then(merit(b).total_cmp(&merit(a))));
        trials
    }
}

fn validation() -> String {
    "validation".to_string()
}

/// The results of one point of a grid on validation queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// A short name, which says how the point differs from the others.
    pub name: String,
    /// The label of the point, with all its keys.
    pub setting: String,
    /// The mean of the selection measure over folds.
    pub validation: f64,
    /// The standard error of the mean over folds; NaN for a single fold.
    pub standard_error: f64,
    /// The numbers of the folds that select the point.
    pub folds: Vec<usize>,
    /// The index of the point in the grid.
    #[serde(skip)]
    pub index: usize,
}

impl CrossValidationReport {
    /// Returns the points of the grid, from the best mean to the worst. Without a grid of two or more points, there are
    /// none.
    pub fn standings(&self) -> Vec<Standing> {
        if self.points.len() < 2 {
            return Vec::new();
        }
        let names = names_of_labels(&self.points, &self.config);
        let of = |(index, name): (usize, String)| {
            let values = self.of_folds(index);
            let setting = self.points[index].clone();
            let won = self.result.folds.iter().filter(|fold| fold.selected == setting);
            Standing {
                name,
                folds: won.map(|fold| fold.fold).collect(),
                validation: mean(values.iter().copied()),
                standard_error: standard_error(&values),
                setting,
                index,
            }
        };
        let mut standings: Vec<Standing> = names.into_iter().enumerate().map(of).collect();
        standings.sort_by(|a, b| merit(b.validation).total_cmp(&merit(a.validation)));
        standings
    }

    /// Returns the selection measure of a point of the grid in every fold.
    fn of_folds(&self, point: usize) -> Vec<f64> {
        self.details.iter().map(|details| details.points.get(point).copied().unwrap_or(f64::NAN)).collect()
    }

    /// Says which point is the best, and how far the second is from it. Also returns whether the folds decide between the
    /// two. Without a grid, there is nothing to say.
    pub fn verdict(&self) -> Option<(String, bool)> {
        let standings = self.standings();
        let [best, second, ..] = standings.as_slice() else { return None };
        let differences: Vec<f64> = self
            .of_folds(best.index)
            .iter()
            .zip(self.of_folds(second.index))
            .map(|(best, other)| best - other)
            .collect();
        let difference = mean(differences.iter().copied());
        let error = standard_error(&differences);
        let in_words = if error.is_finite() { format!(" \u{b1} {error:.4}") } else { String::new() };
        let decided = difference > 0.0 && (difference >= 2.0 * error || error.is_nan());
        let open = if decided { "" } else { " The folds do not decide between them." };
        let on = &self.result.selected_on;
        let value = format!("{} {:.4}", self.selection, best.validation);
        let words = match difference {
            0.0 => format!("{} and {} have the same mean on {on} queries, {value}.", best.name, second.name),
            _ => format!(
                "{} has the highest mean on {on} queries, {value}. Second is {}, {difference:.4}{in_words} lower.{open}",
                best.name, second.name
            ),
        };
        Some((words, decided))
    }

    /// Returns the mean of each test measure over the queries of all folds.
    pub fn query_means(&self) -> Measures {
        let of = |name: &String| {
            let values = self.details.iter().filter_map(|details| details.per_query.values.get(name)).flatten();
            (name.clone(), Value::from(mean(values.copied().flatten())))
        };
        self.result.measures.keys().map(of).collect()
    }
}
