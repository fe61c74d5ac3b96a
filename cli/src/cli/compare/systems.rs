//! Measures several systems on the same queries, and provides the documents and scores that the page shows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn_rank::data::RankingDataset;
use burn_rank::data::trec::Run;
use burn_rank::measure::{Convention, Evaluation, Evaluator, Measure, QueryValues};
use burn_rank::ranker::Ranker;
use burn_rank::workbench::FileKind;
use burn_rank::workbench::dataset::document_name;
use burn_rank::workbench::trec_eval::TrecDocuments;

use super::CompareArgs;
use crate::cli::{Common, Judgments, Loaded, Result, Scored, bail, input};
use crate::report::ScoredDocument;

/// The measures of two or more systems.
pub(super) struct Systems {
    /// The name of each system: its file name, followed by the tag if it is a TREC run.
    pub(super) names: Vec<String>,
    /// Name of each query.
    pub(super) queries: Vec<String>,
    /// One evaluation per system; all cover the same queries in the same order.
    pub(super) evaluations: Vec<Evaluation>,
    /// The number of queries in each fold, for runs that were tested on folds.
    pub(super) folds: Vec<usize>,
    /// The rankings of the systems, if they are known and shown.
    pub(super) rankings: Option<SystemRankings>,
}

impl Systems {
    /// Evaluates rankers and score files on one LETOR file. The rankers may come from burn-rank or from other systems.
    pub(super) fn from_scores(
        args: &CompareArgs,
        systems: &[PathBuf],
        data: &Path,
        measures: &[Measure],
    ) -> Result<Self> {
        let device = args.scoring.device()?;
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
            Common::read(&args.scoring.reading, &[data.to_path_buf()], all().find(is_own).or_else(|| all().next()))?;
        let score = |(path, ranker): (&PathBuf, &Option<Ranker>)| match ranker {
            Some(ranker) => common.scored(&args.scoring.reading, (path, ranker), &device),
            None => Scored::from_file(path, &common.data),
        };
        let scored = systems.iter().zip(&rankers).map(score).collect::<Result<Vec<_>, _>>()?;
        let data = common.data;
        let convention = args.convention.as_deref().map_or_else(|| Ok(in_common(&scored)), input::convention)?;
        let evaluator = Evaluator::new(measures, &convention)?;
        let evaluate = |scored: &Scored| evaluator.evaluate(&scored.rankings(&data, &convention));
        let evaluations = scored.iter().map(evaluate).collect::<Result<_, _>>()?;
        let queries = data.query_ids.clone();
        let scores = || scored.iter().map(|scored| scored.as_float32().to_vec()).collect();
        let rankings = args.html.as_ref().map(|_| SystemRankings::Scored(vec![(data, scores())]));
        let names = systems.iter().map(|path| path.display().to_string()).collect();
        Ok(Self { names, evaluations, queries, folds: Vec::new(), rankings })
    }

    /// Evaluates TREC runs against the same relevance judgments.
    pub(super) fn from_runs(args: &CompareArgs, runs: &[PathBuf], qrels: &Path, measures: &[Measure]) -> Result<Self> {
        let judgments = Judgments::read(qrels, &args.judging)?;
        let convention = judgments.convention(args.convention.as_deref().unwrap_or("trec_eval"))?;
        let evaluator = Evaluator::new(measures, &convention)?;
        let judged = runs.iter().map(|run| judgments.measure(run, &evaluator)).collect::<Result<Vec<_>, _>>()?;
        for (path, run) in runs.iter().zip(&judged) {
            same_queries((&runs[0], &judged[0]), (path, run))?;
        }
        let summary = |run: &Run<QueryValues>| {
            evaluator.summary(&run.queries.iter().map(|(_, values)| values).collect::<Vec<_>>())
        };
        // Documents are read a second time if they are to be shown, so a comparison without a page takes little memory.
        let documents = || runs.iter().map(|run| judgments.documents(run)).collect::<Result<_>>();
        let rankings = args.html.as_ref().map(|_| documents().map(SystemRankings::Runs)).transpose()?;
        let name = |(path, run): (&PathBuf, &Run<QueryValues>)| format!("{} ({})", path.display(), run.tag);
        Ok(Self {
            names: runs.iter().zip(&judged).map(name).collect(),
            evaluations: judged.iter().map(summary).collect::<Result<_, _>>()?,
            queries: judged[0].queries.iter().map(|(query, _)| query.clone()).collect(),
            folds: Vec::new(),
            rankings,
        })
    }
}

/// Returns the convention by which all the rankers were selected, or `standard` if they differ.
fn in_common(scored: &[Scored]) -> Convention {
    let first = scored[0].convention.as_ref();
    first.filter(|_| scored.iter().all(|other| other.convention.as_ref() == first)).cloned().unwrap_or_default()
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

/// The documents of the compared queries, with the score of every system for each document.
pub(super) enum SystemRankings {
    /// Several sets of queries, each with one score per document for every system.
    Scored(Vec<(RankingDataset, Vec<Vec<f32>>)>),
    /// The TREC run of each system, as a map from queries to documents.
    Runs(Vec<HashMap<String, TrecDocuments>>),
}

impl SystemRankings {
    /// Returns the documents of a query, which is found by its number among all sets or, in TREC runs, by its name.
    pub(super) fn of(&self, query: usize, name: &str, system: usize) -> Option<Vec<ScoredDocument>> {
        match self {
            Self::Scored(parts) => {
                let mut before = 0;
                let (data, scores) = parts.iter().find(|(data, _)| {
                    before += data.queries();
                    query < before
                })?;
                let query = query - (before - data.queries());
                let scored = |(place, document): (usize, usize)| ScoredDocument {
                    document: document_name(data, query, place),
                    label: data.labels[document],
                    score: scores[system][document],
                };
                Some(data.range(query).enumerate().map(scored).collect())
            }
            Self::Runs(systems) => {
                let TrecDocuments { scores, labels, ids } = systems.get(system)?.get(name)?;
                let scored = |((&score, &label), id): ((&f32, &f32), &String)| ScoredDocument {
                    document: id.clone(),
                    label,
                    score,
                };
                Some(scores.iter().zip(labels).zip(ids).map(scored).collect())
            }
        }
    }
}
