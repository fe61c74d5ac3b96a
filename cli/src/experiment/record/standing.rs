//! The standing of the points of a grid: their values on validation queries, and the best of them.

use burn_rank::json::Value;
use serde::Serialize;

use super::cross_validation::Measures;
use super::report::{CrossValidationReport, mean, merit, standard_error};
use crate::experiment::config::names::names_of_labels;

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
