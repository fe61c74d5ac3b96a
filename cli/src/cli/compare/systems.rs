//! Measures several systems on the same queries, or reads the measures in the reports of finished `train` and `cv`
//! runs.

use burn_rank::data::trec::Run;
use burn_rank::measure::mean;

use super::*;
use crate::experiment::{DataReport, KeptRun, PerQuery, Report, Sets};

/// The measures that are compared if none are asked for.
const MEASURES: &str = "ndcg@10,map";

impl CompareArgs {
    /// Measures the systems. The arguments say whether they are runs of `cv` or `train`, TREC runs, or rankers and
    /// scores.
    pub(super) fn measured(&self) -> Result<Measured> {
        let folders = self.files.iter().filter(|path| path.is_dir()).count();
        match (&self.qrels, self.files.as_slice()) {
            (None, runs @ [_, _, ..]) if folders == runs.len() => self.of_reports(runs),
            (Some(qrels), runs @ [_, _, ..]) => self.of_runs(runs, qrels),
            (Some(_), _) => bail!("expected two runs or more with --qrels FILE"),
            (None, [scored @ .., data]) if scored.len() >= 2 => self.of_scores(scored, data),
            (None, files) => match files.iter().find(|path| !is_standard_stream(path) && !path.exists()) {
                Some(missing) => bail!("{}: found no such file or folder", missing.display()),
                None => bail!(
                    "expected two systems or more and DATA, two TREC runs or more and --qrels FILE, or two folders of \
                     finished runs or more; found {} in all",
                    files.len()
                ),
            },
        }
    }

    /// Evaluates rankers and score files on one data file. The rankers may come from burn-rank or from other systems.
    fn of_scores(&self, systems: &[PathBuf], data: &Path) -> Result<Measured> {
        let measures = input::measures(&self.measures, MEASURES)?;
        let device = self.scoring.device()?;
        let is_ranker = |path: &PathBuf| {
            path.is_dir()
                || path.extension().is_some_and(|extension| extension == "safetensors")
                || FileKind::of_file(path).is_some_and(FileKind::is_ranker)
        };
        let load = |path: &PathBuf| is_ranker(path).then(|| input::ranker(path, &device)).transpose();
        let rankers = systems.iter().map(load).collect::<Result<Vec<_>, _>>()?;
        // Rankers of other systems may know no names of columns.
        let is_own = |(_, ranker): &Loaded| !ranker.metadata().is_imported();
        let all = || systems.iter().zip(&rankers).filter_map(|(path, ranker)| Some((path.as_path(), ranker.as_ref()?)));
        let common =
            Common::read(&self.scoring.reading, &[data.to_path_buf()], all().find(is_own).or_else(|| all().next()))?;
        let score = |(path, ranker): (&PathBuf, &Option<Ranker>)| match ranker {
            Some(ranker) => common.scored(&self.scoring.reading, (path, ranker), &device),
            None => Scored::from_file(path, &common.data),
        };
        let scored = systems.iter().zip(&rankers).map(score).collect::<Result<Vec<_>, _>>()?;
        let data = common.data;
        let convention = input::convention_or(self.convention.as_deref(), || in_common(&scored))?;
        let evaluator = Evaluator::new(&measures, &convention)?;
        let evaluate = |scored: &Scored| evaluator.evaluate(&scored.rankings(&data, &convention));
        let evaluations = scored.iter().map(evaluate).collect::<Result<Vec<_>, _>>()?;
        let report = self.report(paths(systems), data.query_ids.clone(), &evaluations);
        let scores = || scored.iter().map(|scored| scored.order(&convention).to_vec()).collect();
        Ok((report, self.html.as_ref().map(|_| SystemRankings::Scored(vec![(data, scores())]))))
    }

    /// Evaluates TREC runs against the same relevance judgments.
    fn of_runs(&self, runs: &[PathBuf], qrels: &Path) -> Result<Measured> {
        self.scoring.reading.expect_none("TREC runs")?;
        let measures = input::measures(&self.measures, MEASURES)?;
        let judgments = Judgments::read(qrels, &self.judging)?;
        let convention = judgments.convention(self.convention.as_deref().unwrap_or("trec_eval"))?;
        let evaluator = Evaluator::new(&measures, &convention)?;
        let judged = runs.iter().map(|run| judgments.measure(run, &evaluator)).collect::<Result<Vec<_>, _>>()?;
        for (path, run) in runs.iter().zip(&judged) {
            same_queries((&runs[0], &judged[0]), (path, run))?;
        }
        let summary = |run: &Run<QueryValues>| {
            evaluator.summary(&run.queries.iter().map(|(_, values)| values).collect::<Vec<_>>())
        };
        // Documents are read a second time if they are to be shown, so a comparison without a page takes little memory.
        let documents = || runs.iter().map(|run| judgments.documents(run)).collect::<Result<_>>();
        let rankings = self.html.as_ref().map(|_| documents().map(SystemRankings::Runs)).transpose()?;
        let name = |(path, run): (&PathBuf, &Run<QueryValues>)| format!("{} ({})", path.display(), run.tag);
        let evaluations = judged.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
        let queries = judged[0].queries.iter().map(|(query, _)| query.clone()).collect();
        Ok((self.report(runs.iter().zip(&judged).map(name).collect(), queries, &evaluations), rankings))
    }

    /// Evaluates the scores that finished runs kept, under a given convention. If no measures are given, takes the
    /// measures of the first run.
    fn of_kept(&self, convention: &Convention, mut measures: Vec<Measure>) -> Result<Measured> {
        let (device, folders) = (self.scoring.device()?, &self.files);
        let mut runs = folders.iter().map(|folder| KeptRun::read(folder, &device)).collect::<Result<Vec<_>, _>>()?;
        if measures.is_empty() {
            measures = input::measures(&runs[0].report.result.measures.keys().cloned().collect::<Vec<_>>(), "")?;
        }
        let evaluate = |run: &KeptRun| run.evaluate(&measures, convention);
        let evaluations = runs.iter().map(evaluate).collect::<Result<Vec<_>, _>>()?;
        let tests = runs[0].folds.iter().map(|fold| &fold.test);
        let queries = tests.clone().flat_map(|test| test.query_ids.iter().cloned()).collect();
        let folds = tests.map(|test| test.queries()).collect();
        let report = ComparisonReport { folds, ..self.report(paths(folders), queries, &evaluations) };
        Ok((report, self.html.as_ref().and_then(|_| rankings_of(&mut runs))))
    }

    /// Reads the reports of finished runs. All runs must have the same test queries. If a report lacks a measure or has
    /// another convention, all measures are computed from the scores that the runs kept. If a run kept no scores, all
    /// reports must have the measures and the convention.
    fn of_reports(&self, folders: &[PathBuf]) -> Result<Measured> {
        self.scoring.reading.expect_none("folders of runs")?;
        let read = |folder: &PathBuf| {
            let report = read_report(folder)?;
            let found = "found a run that was stopped, expected a finished one; --resume continues it";
            ensure!(!is_stopped(&report), "{}: {found}", folder.display());
            Ok(Finished::from_report(report))
        };
        let finished = folders.iter().map(read).collect::<Result<Vec<_>>>()?;
        let (folder, first) = (&folders[0], &finished[0]);
        let asked = self.convention.as_deref().map(input::convention).transpose()?;
        let mut measures = if self.measures.is_empty() { Vec::new() } else { input::measures(&self.measures, "")? };
        let convention = asked.as_ref().unwrap_or(&first.convention);
        let is_reported = |run: &Finished| same(convention, &run.convention) && run.missing(&measures).is_none();
        if !finished.iter().all(is_reported) && folders.iter().all(|folder| KeptRun::is_in(folder)) {
            for (other, run) in folders.iter().zip(&finished) {
                if let Some(message) = run.on_other_queries(first, folder) {
                    bail!("{}: {message}", other.display());
                }
            }
            return self.of_kept(convention, measures);
        }
        if !same(convention, &first.convention) {
            let (place, found, asked) = (folder.display(), &first.convention.name, &convention.name);
            let advice = "compare rankers on their data";
            bail!("{place}: found values in the convention {found}, expected {asked}: {advice}");
        }
        if measures.is_empty() {
            let in_all = |name: &&String| finished.iter().all(|other| other.measures().contains(name));
            let names: Vec<String> = first.measures().into_iter().filter(in_all).cloned().collect();
            ensure!(!names.is_empty(), "{}: no measure in common with {}", folder.display(), folders[1].display());
            measures = input::measures(&names, "")?;
        }
        for (other, run) in folders.iter().zip(&finished) {
            if let Some(message) = run.apart_from(first, folder).or_else(|| run.missing(&measures)) {
                bail!("{}: {message}", other.display());
            }
        }
        let evaluations: Vec<_> = finished.iter().map(|finished| finished.evaluation(&measures)).collect();
        let queries = first.folds.iter().flat_map(|(_, fold)| fold.queries.iter().cloned()).collect();
        let folds = first.folds.iter().map(|(_, fold)| fold.queries.len()).collect();
        let set = match first.set() {
            "train" => "training",
            "validation" => "validation",
            _ => "",
        };
        let report = ComparisonReport { folds, set, ..self.report(paths(folders), queries, &evaluations) };
        Ok((report, self.html.as_ref().and_then(|_| kept_rankings(self, folders))))
    }
}

/// Returns the names of systems that are files or folders.
fn paths(systems: &[PathBuf]) -> Vec<String> {
    systems.iter().map(|path| path.display().to_string()).collect()
}

/// Returns the convention by which all the rankers were selected, or `standard` if they differ. Files of scores have
/// none.
fn in_common(scored: &[Scored]) -> Convention {
    let mut known = scored.iter().filter_map(|of| of.convention.as_ref());
    let first = known.next();
    first.filter(|first| known.all(|other| other == *first)).cloned().unwrap_or_default()
}

/// Returns an error if two runs contain different queries; the error names a query that only one run has. The queries
/// of both runs are sorted by name.
fn same_queries<T>(first: (&PathBuf, &Run<T>), other: (&PathBuf, &Run<T>)) -> Result {
    let lacks = |run: &Run<T>, query: &str| run.queries.binary_search_by(|(name, _)| name.as_str().cmp(query)).is_err();
    for ((has, of), (lacking, run)) in [(first, other), (other, first)] {
        if let Some((query, _)) = of.queries.iter().find(|(query, _)| lacks(run, query)) {
            let (lacking, has) = (lacking.display(), has.display());
            let advice = "--complete counts missing queries as empty lists";
            bail!("{lacking}: found no document for query `{query}`, which {has} has; {advice}");
        }
    }
    Ok(())
}

/// Returns whether two conventions are equal except for their names.
fn same(one: &Convention, other: &Convention) -> bool {
    let mut renamed = one.clone();
    renamed.name.clone_from(&other.name);
    renamed == *other
}

/// The results that a finished run reported for its test queries.
struct Finished {
    convention: Convention,
    /// The number of queries without a relevant document, by the convention.
    empty_queries: usize,
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
                let measured = train.measures.iter().find(|(name, _)| *name == train.per_query.set);
                Self {
                    convention: train.convention,
                    empty_queries: measured.map_or(0, |(_, set)| set.empty_queries),
                    folds: vec![tested(train.data, train.per_query)],
                }
            }
            Report::Cv(cv) => {
                let folds = cv.details.into_iter().map(|fold| tested(fold.data, fold.per_query)).collect();
                Self { convention: cv.result.convention, empty_queries: cv.result.empty_queries, folds }
            }
        }
    }

    /// Returns the name of the set of queries on which the run was measured.
    fn set(&self) -> &str {
        self.folds.first().map_or("", |(_, fold)| &fold.set)
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
            empty_queries: self.empty_queries,
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
        let [found, expected] = [self, first].map(Finished::set);
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
