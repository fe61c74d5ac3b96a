//! Compares finished `train` and `cv` runs on the queries in their reports.

use std::path::{Path, PathBuf};

use burn_rank::measure::{Convention, Evaluation, Measure, mean};
use burn_rank::workbench::json::json;

use super::CompareArgs;
use super::systems::{SystemRankings, Systems};
use crate::cli::{Result, bail, input, read_report};
use crate::experiment::{DataReport, KeptRun, PerQuery, Report, Sets};

/// Returns whether two conventions are equal except for their names.
fn same(one: &Convention, other: &Convention) -> bool {
    let mut renamed = one.clone();
    renamed.name.clone_from(&other.name);
    renamed == *other
}

/// The results that a finished run reported for its test queries.
struct Finished {
    convention: Convention,
    /// The data and the values of the test queries of each fold.
    folds: Vec<(DataReport, PerQuery)>,
}

impl Finished {
    fn from_report(report: Report) -> Self {
        let tested = |data: Sets<DataReport>, per_query: PerQuery| {
            let data = data.iter().find(|(name, _)| *name == per_query.set).map_or(&data.train, |(_, data)| data);
            (data.clone(), per_query)
        };
        match report {
            Report::Train(train) => {
                Self { convention: train.convention, folds: vec![tested(train.data, train.per_query)] }
            }
            Report::Cv(cv) => {
                let folds = cv.details.into_iter().map(|fold| tested(fold.data, fold.per_query)).collect();
                Self { convention: cv.result.convention, folds }
            }
        }
    }

    /// Returns the measures that every fold has, sorted by name.
    fn measures(&self) -> Vec<&String> {
        let first = self.folds.iter().take(1).flat_map(|(_, fold)| fold.values.keys());
        first.filter(|name| self.folds.iter().all(|(_, fold)| fold.values.contains_key(*name))).collect()
    }

    /// Computes the means of measures over the queries of all folds.
    fn evaluation(&self, measures: &[Measure]) -> Evaluation {
        let values = |measure: &Measure| -> Vec<Option<f64>> {
            self.folds.iter().flat_map(|(_, fold)| &fold.values[&measure.to_string()]).copied().collect()
        };
        let per_query: Vec<_> = measures.iter().map(values).collect();
        let mean = |values: &Vec<Option<f64>>| mean(values).unwrap_or(f64::NAN);
        Evaluation {
            convention: self.convention.clone(),
            queries: self.folds.iter().map(|(data, _)| data.statistics.queries).sum(),
            empty_queries: self.folds.iter().map(|(data, _)| data.statistics.empty_queries).sum(),
            means: measures.iter().copied().zip(per_query.iter().map(mean)).collect(),
            per_query,
        }
    }

    /// Returns why this run cannot be compared with `first`, the run in `folder`. Returns `None` if conventions and
    /// queries agree.
    fn apart_from(&self, first: &Finished, folder: &Path) -> Option<String> {
        if same(&self.convention, &first.convention) {
            return self.on_other_queries(first, folder);
        }
        let [found, expected] = [self, first].map(|of| json!(of.convention));
        Some(format!("found the convention {found}, expected {expected}, as in {}", folder.display()))
    }

    /// Returns a message if this run was measured on different queries than `first`, the run in `folder`.
    fn on_other_queries(&self, first: &Finished, folder: &Path) -> Option<String> {
        let hashes = |of: &Finished| of.folds.iter().map(|(data, _)| data.hash.clone()).collect::<Vec<_>>();
        let [found, expected] =
            [self, first].map(|of| of.folds.first().map_or(String::new(), |(_, fold)| fold.set.clone()));
        let folder = folder.display();
        if found != expected {
            return Some(format!("found values of {found} queries, expected {expected}, as in {folder}"));
        }
        let words = "measured on other queries, features or folds than";
        (hashes(self) != hashes(first)).then(|| format!("{words} {folder}: compare rankers on their data"))
    }

    /// Returns a message that names the first of `measures` that this run did not report.
    fn missing(&self, measures: &[Measure]) -> Option<String> {
        let known = self.measures();
        let missing = measures.iter().find(|measure| !known.contains(&&measure.to_string()))?;
        let found = known.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        Some(format!("no values of {missing}, found {found}; `measure.report` lists what a run keeps"))
    }
}

/// Returns the rankings of runs that kept their scores. If a run kept no scores, or if its data have changed, the
/// rankings are unknown.
fn kept_rankings(args: &CompareArgs, folders: &[PathBuf]) -> Option<SystemRankings> {
    if !folders.iter().all(|folder| KeptRun::is_in(folder)) {
        return None;
    }
    let device = args.scoring.device().ok()?;
    let runs = folders.iter().map(|folder| KeptRun::read(folder, &device).ok());
    rankings_of(&mut runs.collect::<Option<Vec<_>>>()?)
}

/// Takes the test queries of every fold out of the runs, together with the scores that each run's first seed gave.
fn rankings_of(runs: &mut [KeptRun]) -> Option<SystemRankings> {
    let folds = runs.iter().map(|run| run.folds.len()).min().unwrap_or(0);
    let part = |fold: usize| {
        let scores = runs.iter().map(|run| run.folds[fold].scores.first().cloned()).collect::<Option<Vec<_>>>()?;
        Some((std::mem::take(&mut runs[0].folds[fold].test), scores))
    };
    Some(SystemRankings::Scored((0..folds).map(part).collect::<Option<_>>()?))
}

impl Systems {
    /// Evaluates the scores that finished runs kept, under a given convention, by the measures of the first run if
    /// there are none.
    fn from_kept(args: &CompareArgs, convention: &Convention, mut measures: Vec<Measure>) -> Result<Self> {
        let (device, folders) = (args.scoring.device()?, &args.files);
        let mut runs = folders.iter().map(|folder| KeptRun::read(folder, &device)).collect::<Result<Vec<_>, _>>()?;
        if measures.is_empty() {
            measures = input::measures(&runs[0].report.result.measures.keys().cloned().collect::<Vec<_>>(), "")?;
        }
        let evaluations = runs.iter().map(|run| run.evaluate(&measures, convention)).collect::<Result<_, _>>()?;
        let tests = runs[0].folds.iter().map(|fold| &fold.test);
        Ok(Self {
            names: folders.iter().map(|path| path.display().to_string()).collect(),
            queries: tests.clone().flat_map(|test| test.query_ids.iter().cloned()).collect(),
            folds: tests.map(|test| test.queries()).collect(),
            evaluations,
            rankings: args.html.as_ref().and_then(|_| rankings_of(&mut runs)),
        })
    }

    /// Reads the reports of finished runs. All runs must have the same test queries. If a report lacks a measure or has
    /// another convention, all measures are computed from the scores that the runs kept. If a run kept no scores, all
    /// reports must have the measures and the convention.
    pub(super) fn from_reports(args: &CompareArgs, folders: &[PathBuf]) -> Result<Self> {
        let read = |folder: &PathBuf| Ok(Finished::from_report(read_report(folder)?));
        let finished = folders.iter().map(read).collect::<Result<Vec<_>>>()?;
        let (folder, first) = (&folders[0], &finished[0]);
        let asked = args.convention.as_deref().map(input::convention).transpose()?;
        let mut measures = if args.measures.is_empty() { Vec::new() } else { input::measures(&args.measures, "")? };
        let convention = asked.as_ref().unwrap_or(&first.convention);
        let is_reported = |run: &Finished| same(convention, &run.convention) && run.missing(&measures).is_none();
        if !finished.iter().all(is_reported) && folders.iter().all(|folder| KeptRun::is_in(folder)) {
            for (other, run) in folders.iter().zip(&finished) {
                if let Some(message) = run.on_other_queries(first, folder) {
                    bail!("{}: {message}", other.display());
                }
            }
            return Self::from_kept(args, convention, measures);
        }
        if !same(convention, &first.convention) {
            let (place, found, asked) = (folder.display(), &first.convention.name, &convention.name);
            let advice = "compare rankers on their data";
            bail!("{place}: found values in the convention {found}, expected {asked}: {advice}");
        }
        if measures.is_empty() {
            let in_all = |name: &&String| finished.iter().all(|other| other.measures().contains(name));
            let names: Vec<String> = first.measures().into_iter().filter(in_all).cloned().collect();
            if names.is_empty() {
                bail!("{}: no measure in common with {}", folder.display(), folders[1].display());
            }
            measures = input::measures(&names, "")?;
        }
        for (other, run) in folders.iter().zip(&finished) {
            if let Some(message) = run.apart_from(first, folder).or_else(|| run.missing(&measures)) {
                bail!("{}: {message}", other.display());
            }
        }
        Ok(Self {
            names: folders.iter().map(|path| path.display().to_string()).collect(),
            queries: first.folds.iter().flat_map(|(_, fold)| fold.queries.iter().cloned()).collect(),
            folds: first.folds.iter().map(|(_, fold)| fold.queries.len()).collect(),
            evaluations: finished.iter().map(|finished| finished.evaluation(&measures)).collect(),
            rankings: args.html.as_ref().and_then(|_| kept_rankings(args, folders)),
        })
    }
}
