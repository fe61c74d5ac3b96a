//! `burn-rank compare` tests whether one system is better than another.
//!
//! `systems.rs` measures every system on the same queries, or reads the measures of finished runs from their reports.

mod systems;

use std::collections::{HashMap, HashSet};

use burn_rank::measure::significance::ComparisonConfig;
use burn_rank::workbench::dataset::document_name;
use burn_rank::workbench::significance::compare_all_telling;
use burn_rank::workbench::trec_eval::TrecDocuments;

use super::report::files_of;
use super::*;
use crate::experiment::put_right;
use crate::number;
use crate::report::{
    ComparedMeasure, ComparisonReport, ScoredDocument, comparison_page, forest_svg, labels, latex_table, letter,
    mean_table, pair_table,
};

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("../texts/compare.txt").trim_ascii_end())]
pub struct CompareArgs {
    /// Two or more systems, followed by the LETOR text or table on which they are compared. With --qrels: only TREC
    /// runs, two or more. With neither: the folders of two or more finished runs
    #[arg(required = true, value_name = "SYSTEM")]
    files: Vec<PathBuf>,
    /// File with TREC relevance judgments; if it is given, the systems must be TREC runs
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Convention [default: the convention that all rankers or reports share; trec_eval for TREC runs; else standard]
    #[arg(short, long)]
    convention: Option<String>,
    /// Measures, comma-separated [default: ndcg@10,map; for folders, all measures that they share]
    #[arg(short, long = "measures", value_name = "MEASURES")]
    measures: Vec<String>,
    /// Also print the value of every system for every query
    #[arg(short = 'q', long)]
    per_query: bool,
    /// Number of samples of the randomization test and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u32).range(1..))]
    resamples: u32,
    /// Confidence level of the intervals
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    confidence: f64,
    /// Seed of the randomization test and of the bootstrap
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also write an HTML page with means, tests, differences, and both rankings of the queries that gained or lost
    /// most. An existing file is replaced; with `-`, the page goes to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the means as a LaTeX table for a paper; `-` as for --html
    #[arg(long, value_name = "FILE")]
    latex: Option<PathBuf>,
    /// Also write a forest plot of the differences with their intervals as an SVG file; `-` as for --html
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scoring: input::ScoringArgs,
    #[command(flatten)]
    judging: JudgingArgs,
}

impl CompareArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let config = self.config();
        config.check()?;
        self.files.iter().try_for_each(|path| put_right(path))?;
        let outputs = [("--html", &self.html), ("--latex", &self.latex), ("--svg", &self.svg)];
        let outputs: Vec<(&'static str, &PathBuf)> =
            outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?))).collect();
        let of_runs = self.files.iter().filter(|path| path.is_dir()).flat_map(|folder| files_of(folder));
        let mut of_command = Outputs::of_reading(self.files.iter().chain(&self.qrels).cloned().chain(of_runs))?;
        for (option, path) in &outputs {
            input::not_beside_json(self.json, option, path)?;
            of_command.add(option, path)?;
        }
        let (mut report, rankings) = self.scoring.execution.scope(|| self.measured())?;
        let count = report.systems.len();
        let work = Work::of("resamples", report.measures.len() * (count * (count - 1) / 2) * 2 * config.resamples);
        for of in &mut report.measures {
            let values: Vec<_> = of.values.iter().map(Vec::as_slice).collect();
            of.pairs = compare_all_telling(&values, &config, &|samples| work.more(samples))?;
        }
        drop(work);
        let (mut written, mut pending, mut shown) = (Vec::new(), Vec::new(), None);
        let rankings = |query: usize, system: usize| rankings.as_ref()?.of(query, &report.query_ids[query], system);
        for (option, path) in outputs {
            let text = match option {
                "--html" => comparison_page(&report, &rankings)?,
                "--latex" => latex_table(&report),
                _ => forest_svg(&report),
            };
            if is_standard_stream(path) {
                shown = Some(text);
                continue;
            }
            pending.push(files::prepare(path, |file| file.write_all(text.as_bytes()))?);
            written.push(path.display().to_string());
        }
        files::commit(pending)?;
        if let Some(text) = shown {
            return Ok(out.write_all(text.as_bytes())?);
        }
        if self.json {
            return Ok(writeln!(out, "{}", record(&report, self.per_query))?);
        }
        tables(&report, self.per_query, out)?;
        if !written.is_empty() {
            writeln!(out, "written to {}", harmless(&written.join(", ")))?;
        }
        Ok(())
    }

    /// Returns the settings of the tests.
    fn config(&self) -> ComparisonConfig {
        ComparisonConfig { resamples: self.resamples as usize, confidence: self.confidence, seed: self.seed }
    }

    /// Puts the values of the systems together, without tests. `names` has the file of each system, followed by the tag
    /// of a TREC run. All evaluations cover these queries in this order.
    fn report(&self, names: Vec<String>, query_ids: Vec<String>, evaluations: &[Evaluation]) -> ComparisonReport {
        let first = &evaluations[0];
        let compared = |(at, (measure, _)): (usize, &(Measure, f64))| ComparedMeasure {
            measure: *measure,
            values: evaluations.iter().map(|evaluation| evaluation.per_query[at].clone()).collect(),
            pairs: Vec::new(),
        };
        ComparisonReport {
            convention: first.convention.clone(),
            queries: first.queries,
            empty_queries: first.empty_queries,
            systems: names,
            query_ids,
            folds: Vec::new(),
            set: "",
            measures: first.means.iter().enumerate().map(compared).collect(),
            config: self.config(),
        }
    }
}

/// The report on the systems, whose tests follow, and the rankings of the systems, if they are known and shown.
type Measured = (ComparisonReport, Option<SystemRankings>);

/// The documents of the compared queries, with the score of every system for each document.
enum SystemRankings {
    /// Several sets of queries, each with one score per document for every system.
    Scored(Vec<(RankingDataset, Vec<Vec<f32>>)>),
    /// The TREC run of each system, as a map from queries to documents.
    Runs(Vec<HashMap<String, TrecDocuments>>),
}

impl SystemRankings {
    /// Returns the documents of a query, which is found by its number among all sets or, in TREC runs, by its name.
    fn of(&self, query: usize, name: &str, system: usize) -> Option<Vec<ScoredDocument>> {
        match self {
            Self::Scored(parts) => {
                let mut before = 0;
                let (data, scores) = parts.iter().find(|(data, _)| {
                    before += data.queries();
                    query < before
                })?;
                let query = query - (before - data.queries());
                let documents = data.range(query);
                let names: Vec<_> = (0..documents.len()).map(|place| document_name(data, query, place)).collect();
                // Identifiers that documents share do not tell them apart.
                let is_apart = names.iter().collect::<HashSet<_>>().len() == names.len();
                let scored = |(place, document): (usize, usize)| ScoredDocument {
                    document: if is_apart { names[place].clone() } else { (place + 1).to_string() },
                    label: data.labels[document],
                    score: scores[system][document],
                };
                Some(documents.enumerate().map(scored).collect())
            }
            Self::Runs(systems) => {
                let TrecDocuments { scores, labels, ids } = systems.get(system)?.get(name)?;
                let documents = scores.iter().zip(labels).zip(ids.iter().cloned());
                Some(documents.map(|((&score, &label), document)| ScoredDocument { document, label, score }).collect())
            }
        }
    }
}

/// Prints the tables, and what they say in a sentence for each measure.
fn tables(report: &ComparisonReport, per_query: bool, out: &mut dyn Write) -> Result {
    let ComparisonReport { convention, queries, empty_queries: empty, set, .. } = report;
    let queries = counted(*queries, format!("{set} query").trim_start());
    writeln!(out, "convention {}, {queries}, {empty} empty", convention.name)?;
    writeln!(out, "compared on {} of them", report.measures[0].pairs[0].queries)?;
    // Sentences have room for names, also where the tables have letters.
    let names = labels(&report.systems);
    let labels = labels_that_fit(report, per_query);
    for (label, name) in labels.iter().zip(&report.systems).filter(|(label, name)| label != name) {
        writeln!(out, "{}  {}", harmless(label), harmless(name))?;
    }
    writeln!(out)?;
    let folds: Vec<Vec<_>> = report.measures.iter().map(|of| of.fold_means(&report.folds)).collect();
    let queries: Vec<Vec<_>> = report.measures.iter().map(ComparedMeasure::means).collect();
    let means = |name: &str, values: &[Vec<Option<f64>>]| mean_table(name, report, &labels, values).text();
    if report.fold_means_differ() {
        write!(out, "{}\n{}", means("mean of queries", &queries), means("mean of folds", &folds))?;
    } else {
        write!(out, "{}", means("mean", &queries))?;
    }
    let pairs = report.measures.iter().map(|of| pair_table(of.measure, &of.pairs, &labels));
    let by_query = report.measures.iter().filter(|_| per_query).map(|of| query_table(report, of, &labels));
    pairs.chain(by_query).try_for_each(|table| write!(out, "\n{}", table.text()))?;
    writeln!(out)?;
    let tukey = if labels.len() > 2 { ", tukey" } else { "" };
    let percent = 100.0 * report.config.confidence;
    writeln!(out, "low, high: {percent}% bootstrap interval; t, random{tukey}: two-sided p-values;")?;
    let resamples = format!("{} resamples, seed {}", report.config.resamples, report.config.seed);
    writeln!(out, "d: effect size; win/tie/loss: queries. {resamples}.")?;
    writeln!(out, "How to read this: burn-rank compare --help\n")?;
    for of in &report.measures {
        write!(out, "{}", marked("verdict", &harmless(&report.verdict(of, &names).sentence)))?;
    }
    Ok(report.caution().iter().try_for_each(|words| write!(out, "{}", marked("note", words)))?)
}

/// Returns the names of the systems, or their letters if a table with the names has lines that are too long.
fn labels_that_fit(report: &ComparisonReport, per_query: bool) -> Vec<String> {
    let labels = labels(&report.systems);
    let fits = |of: &ComparedMeasure| {
        let pairs = pair_table(of.measure, &of.pairs, &labels);
        let by_query = per_query.then(|| query_table(report, of, &labels));
        [pairs]
            .into_iter()
            .chain(by_query)
            .all(|table| table.text().lines().all(|line| line.chars().count() <= COLUMNS))
    };
    if report.measures.iter().all(fits) { labels } else { (0..labels.len()).map(letter).collect() }
}

/// Builds a table that shows one measure for every query under each system. With two systems, it also shows their
/// difference.
fn query_table(report: &ComparisonReport, of: &ComparedMeasure, labels: &[String]) -> Table {
    let difference = if let [first, second] = labels { Some(format!("{second} - {first}")) } else { None };
    let columns = labels.iter().cloned().chain(difference);
    let rows = report.query_ids.iter().enumerate().map(|(q, query)| {
        let values: Vec<Option<f64>> = of.values.iter().map(|values| values[q]).collect();
        let difference =
            if let [Some(a), Some(b)] = values[..] { Some(Cell::number(number::difference(b - a))) } else { None };
        (query, values.into_iter().map(measured).chain(difference))
    });
    Table::new(of.measure.to_string(), columns).with(rows)
}

/// Returns the complete comparison as JSON.
fn record(report: &ComparisonReport, per_query: bool) -> Value {
    let labels = labels(&report.systems);
    let of_measure = |of: &ComparedMeasure| {
        let mut value = json!({"means": of.means(), "pairs": of.pairs, "verdict": report.verdict(of, &labels)});
        if report.folds.len() > 1 {
            value["fold_means"] = json!(of.fold_means(&report.folds));
        }
        (of.measure.to_string(), value)
    };
    let mut object = json!({
        "convention": report.convention,
        "queries": report.queries,
        "empty_queries": report.empty_queries,
        "systems": report.systems,
        "config": report.config,
        "measures": report.measures.iter().map(of_measure).collect::<Map>(),
    });
    if !report.set.is_empty() {
        object["set"] = json!(report.set);
    }
    if per_query {
        let row = |(q, query): (usize, &String)| {
            let values = report.measures.iter().map(|of| {
                let of_systems: Vec<Option<f64>> = of.values.iter().map(|values| values[q]).collect();
                (of.measure.to_string(), json!(of_systems))
            });
            json!({"query": query, "measures": values.collect::<Map>()})
        };
        object["per_query"] = report.query_ids.iter().enumerate().map(row).collect();
    }
    object
}
