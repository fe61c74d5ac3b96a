//! From the results of all fits to the table: each fold selects its point of the grid, test measures are averaged.

use std::collections::BTreeMap;

use crate::json::Value;

use super::jobs::{JobResult, Jobs, mean, selected};
use crate::experiment::config::{ExperimentConfig, grid};
use crate::experiment::error::ExperimentError;
use crate::experiment::record::{
    CrossValidation, CrossValidationReport, FoldDetails, FoldResult, Measures, PerQuery, standard_error,
};
use crate::ranker::Versions;

/// The table and its details from the results of all jobs.
pub(super) fn summarize(
    config: &ExperimentConfig,
    jobs: &Jobs,
    results: &[JobResult],
) -> Result<CrossValidationReport, ExperimentError> {
    let &Jobs { splits, data, points, seeds, .. } = jobs;
    let names: Vec<String> = config.measures().iter().map(ToString::to_string).collect();
    let mut folds = Vec::new();
    let mut details = Vec::new();
    // `[measure][query]` over all folds, averaged over seeds.
    let mut pooled: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for (s, split) in splits.iter().enumerate() {
        let of_point = |point: usize| jobs.of_point(results, s, point);
        let selections: Vec<f64> = jobs.selections(results, s);
        let best = selected(&selections);
        let (mut measures, mut standard_errors) = (Measures::new(), Measures::new());
        let mut per_query = PerQuery {
            set: "test".to_string(),
            queries: split.test.as_ref().map(|test| test.query_ids.clone()).unwrap_or_default(),
            values: BTreeMap::new(),
        };
        for (m, name) in names.iter().enumerate() {
            let of_queries = over_seeds(of_point(best), m);
            let counted: Vec<f64> = of_queries.iter().copied().flatten().collect();
            measures.insert(name.clone(), Value::from(mean(counted.iter().copied())));
            standard_errors.insert(name.clone(), Value::from(standard_error(&counted)));
            pooled[m].extend(counted);
            per_query.values.insert(name.clone(), of_queries);
        }
        folds.push(FoldResult {
            fold: split.fold,
            selected: grid::label(&points[best]),
            validation: selections[best],
            measures,
            standard_errors,
            stops: of_point(best).iter().map(|result| result.fit.stop).collect(),
        });
        details.push(FoldDetails {
            data: data[s].clone(),
            points: selections,
            per_query,
            fits: of_point(best).iter().map(|result| result.fit.clone()).collect(),
        });
    }
    let tests = splits.iter().filter_map(|split| split.test.as_ref());
    let value_of = |fold: &FoldResult, name: &str| fold.measures[name].as_f64().unwrap_or(f64::NAN);
    let result = CrossValidation {
        name: config.name.clone(),
        convention: config.measure.convention.clone(),
        queries: tests.clone().map(|test| test.queries()).sum(),
        empty_queries: tests.map(|test| (0..test.queries()).filter(|&q| !test.has_relevant(q)).count()).sum(),
        measures: names.iter().map(|n| (n.clone(), Value::from(mean(folds.iter().map(|f| value_of(f, n)))))).collect(),
        standard_errors: names.iter().zip(&pooled).map(|(n, v)| (n.clone(), Value::from(standard_error(v)))).collect(),
        seeds: seeds.to_vec(),
        folds,
        selected_on: if splits.iter().all(|split| split.validation.is_some()) { "validation" } else { "training" }
            .into(),
    };
    Ok(CrossValidationReport {
        result,
        config: config.resolved(),
        selection: config.measure.select,
        points: points.iter().map(grid::label).collect(),
        details,
        versions: Versions::current(),
    })
}

/// Value of measure `m` for every query, averaged over seeds; none where the convention leaves the query out.
fn over_seeds(results: &[JobResult], m: usize) -> Vec<Option<f64>> {
    let queries = results.first().and_then(|result| result.test.get(m)).map_or(0, Vec::len);
    let of_query = |q: usize| {
        let values: Option<Vec<f64>> = results.iter().map(|result| result.test[m][q]).collect();
        values.map(|values| mean(values.into_iter()))
    };
    (0..queries).map(of_query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::record::FitReport;
    use crate::learner::StopReason;

    #[test]
    fn queries_that_a_convention_excludes_have_no_value() {
        let result = |a, b| JobResult {
            selection: 0.0,
            fit: FitReport {
                seed: 1,
                rounds: 1,
                best_round: 1,
                stop: StopReason::Completed,
                approximation: None,
                weights: None,
                importance: None,
                history: Vec::new(),
            },
            test: vec![vec![Some(a), None, Some(b)]],
        };
        assert_eq!(over_seeds(&[result(1.0, 0.0), result(0.0, 0.5)], 0), [Some(0.5), None, Some(0.25)]);
    }
}
