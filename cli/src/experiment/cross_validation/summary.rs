//! Summarizes the results of all fits as the table of a cross-validation. Each fold selects a grid point or a trial,
//! and test measures are averaged over folds.

use std::collections::BTreeMap;

use burn_rank::json::Value;
use burn_rank::workbench::ranker::Versions;

use super::jobs::JobResult;
use super::{CrossValidationOptions, PlannedFits};
use crate::experiment::config::grid;
use crate::experiment::error::ExperimentError;
use crate::experiment::record::{
    CrossValidation, CrossValidationReport, FoldDetails, FoldResult, Measures, PerQuery, SearchReport, Trial, mean,
    over_seeds, standard_error,
};
use crate::experiment::refit::Chosen;

impl PlannedFits<'_> {
    /// Keeps the files that the options ask for, and makes the report from the results of all jobs.
    pub(super) fn end(
        &self,
        mut results: Vec<JobResult>,
        options: &CrossValidationOptions,
    ) -> Result<(CrossValidationReport, Chosen), ExperimentError> {
        self.keep_files(&mut results, options)?;
        Ok((self.summarize(&results), self.best_of_all(&results)))
    }

    /// Makes the table and its details from the results of all jobs.
    fn summarize(&self, results: &[JobResult]) -> CrossValidationReport {
        let Self { config, contents, candidates, seeds, .. } = self;
        let names: Vec<String> = config.measures().iter().map(ToString::to_string).collect();
        let of_fold = |split| self.fold(results, split, &names);
        let (folds, details): (Vec<FoldResult>, Vec<FoldDetails>) = (0..contents.len()).map(of_fold).unzip();
        let mean_of = |name: &String| mean(folds.iter().map(|fold| fold.measures[name].as_f64().unwrap_or(f64::NAN)));
        let is_validated = contents.iter().all(|of| of.data.validation.is_some());
        // The standard error is over the queries of all folds.
        let error_of = |name: &String| {
            let values = details.iter().flat_map(|details| &details.per_query.values[name]);
            standard_error(&values.copied().flatten().collect::<Vec<f64>>())
        };
        let result = CrossValidation {
            name: config.name.clone(),
            convention: config.measure.convention.clone(),
            queries: self.tests.queries,
            empty_queries: self.tests.empty,
            measures: names.iter().map(|name| (name.clone(), Value::from(mean_of(name)))).collect(),
            standard_errors: names.iter().map(|name| (name.clone(), Value::from(error_of(name)))).collect(),
            seeds: seeds.clone(),
            folds,
            selected_on: if is_validated { "validation" } else { "training" }.to_string(),
            search: config.search.as_ref().map(|search| SearchReport {
                kind: search.kind().to_string(),
                trials: search.trials(),
                rungs: self.rungs.clone(),
            }),
        };
        CrossValidationReport {
            result,
            config: self.resolved.clone(),
            selection: config.measure.select,
            points: match (&config.search, candidates.first()) {
                (None, Some(points)) => points.iter().map(|point| grid::label(&point.point)).collect(),
                _ => Vec::new(),
            },
            details,
            versions: Versions::current(),
        }
    }

    /// Returns the result and the details of a fold.
    fn fold(&self, results: &[JobResult], split: usize, names: &[String]) -> (FoldResult, FoldDetails) {
        let of = &self.contents[split];
        let (selections, best) = (self.selections(results, split), self.selected(results, split));
        let fits = self.of_candidate(results, split, best);
        let (mut measures, mut standard_errors) = (Measures::new(), Measures::new());
        let mut per_query =
            PerQuery { set: "test".to_string(), queries: of.test_queries.clone(), values: BTreeMap::new() };
        for (m, name) in names.iter().enumerate() {
            let of_queries = over_seeds(fits.iter().filter_map(|fit| fit.test.get(m)));
            let counted: Vec<f64> = of_queries.iter().copied().flatten().collect();
            measures.insert(name.clone(), Value::from(mean(counted.iter().copied())));
            standard_errors.insert(name.clone(), Value::from(standard_error(&counted)));
            per_query.values.insert(name.clone(), of_queries);
        }
        let fold = FoldResult {
            fold: of.fold,
            selected: grid::label(&self.candidates[split][best].point),
            validation: selections[best],
            measures,
            standard_errors,
            stops: fits.iter().map(|result| result.fit.stop).collect(),
            trials: if self.config.search.is_some() { self.trials(results, split) } else { Vec::new() },
        };
        let details = FoldDetails {
            data: of.data.clone(),
            points: if self.config.search.is_some() { Vec::new() } else { selections },
            per_query,
            extremes: fits.first().and_then(|result| result.extremes.clone()),
            fits: fits.iter().map(|result| result.fit.clone()).collect(),
        };
        (fold, details)
    }

    /// Returns every trial of a search in one fold, with its drawn values and its selection measures.
    fn trials(&self, results: &[JobResult], split: usize) -> Vec<Trial> {
        let (ladder, selections) = (self.ladder(results, split), self.selections(results, split));
        let trial = |number: usize| {
            let value = |(trials, values): &(Vec<usize>, Vec<f64>)| {
                let at = trials.iter().position(|&trial| trial == number)?;
                Some(Some(values[at]).filter(|value| !value.is_nan()))
            };
            let made = self.of_candidate(results, split, number).iter().map(|result| result.fit.rounds);
            let rungs: Vec<Option<f64>> = ladder.iter().map_while(value).collect();
            // A trial that left may have the longer fit of another search.
            let left = rungs.len().checked_sub(1).filter(|last| last + 1 < ladder.len());
            let selection = Some(selections[number]).filter(|value| !value.is_nan());
            Trial {
                trial: number + 1,
                values: self.candidates[split][number].point.iter().cloned().collect(),
                validation: left.map_or(selection, |rung| rungs[rung]),
                rounds: made.max().unwrap_or(0).min(left.map_or(usize::MAX, |rung| self.rungs[rung].rounds)),
                rungs,
            }
        };
        (0..self.choices()).map(trial).collect()
    }
}
