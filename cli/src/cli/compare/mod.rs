//! `burn-rank compare` tests whether one system is better than another.
//!
//! `systems.rs` measures every system on the same queries, and `reports.rs` reads the measures of finished runs from
//! their reports. `print.rs` prints the results of the tests in `measure::significance`. `rankings.rs` provides the
//! documents that the `--html` page shows.

mod print;
mod reports;
mod systems;

use std::io::Write;
use std::path::PathBuf;

use burn_rank::measure::significance::{Comparison, ComparisonConfig};
use burn_rank::workbench::atomic_file;
use burn_rank::workbench::significance::compare_all_telling;
use burn_rank::workbench::text::{harmless, is_standard_stream};
use clap::{Args, value_parser};

use super::{JudgingArgs, Result, Work, bail, input};
use crate::experiment::{OutputError, put_right};
use crate::report::{ComparedMeasure, ComparisonReport, comparison_page, forest_svg, latex_table};
use systems::Systems;

const MEASURES: &str = "ndcg@10,map";

const READING: &str = include_str!("../texts/compare.txt").trim_ascii_end();

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_long_help = READING)]
pub struct CompareArgs {
    /// Two or more systems, followed by the LETOR file on which they are compared. With --qrels: only TREC runs, two or
    /// more. With neither a LETOR file nor --qrels: the folders of two or more finished runs
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
        let config =
            ComparisonConfig { resamples: self.resamples as usize, confidence: self.confidence, seed: self.seed };
        config.check()?;
        self.files.iter().try_for_each(|path| put_right(path))?;
        let outputs = [("--html", &self.html), ("--latex", &self.latex), ("--svg", &self.svg)];
        let outputs: Vec<(&str, &PathBuf)> =
            outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?))).collect();
        let read: Vec<&PathBuf> = self.files.iter().chain(&self.qrels).collect();
        for (at, (option, path)) in outputs.iter().enumerate() {
            if outputs[..at].iter().any(|(_, written)| written == path) {
                bail!("{option} {}: expected a different file: this one is written", path.display());
            }
            input::not_over(option, path, &read, "is read")?;
        }
        input::once(read)?;
        let systems = self.scoring.scope(|| self.systems())?;
        let (measures, count) = (systems.evaluations[0].means.len(), systems.evaluations.len());
        let work = Work::of("resamples", measures * (count * (count - 1) / 2) * 2 * config.resamples);
        let tell = |samples| work.more(samples);
        let pairs = (0..measures).map(|measure| {
            let values = systems.evaluations.iter().map(|evaluation| evaluation.per_query[measure].as_slice());
            compare_all_telling(&values.collect::<Vec<_>>(), &config, &tell)
        });
        let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
        drop(work);
        let report = report(&systems, pairs, config);
        let (mut written, mut shown) = (Vec::new(), None);
        let rankings =
            |query: usize, system: usize| systems.rankings.as_ref()?.of(query, &systems.queries[query], system);
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
            atomic_file::write(path, text.as_bytes())
                .map_err(|source| OutputError::Unwritable { path: path.clone(), source })?;
            written.push(path.display().to_string());
        }
        if let Some(text) = shown {
            return Ok(out.write_all(text.as_bytes())?);
        }
        if self.json {
            return Ok(writeln!(out, "{}", print::json(&report, self.per_query))?);
        }
        print::tables(&report, self.per_query, out)?;
        if !written.is_empty() {
            writeln!(out, "written to {}", harmless(&written.join(", ")))?;
        }
        Ok(())
    }

    fn systems(&self) -> Result<Systems> {
        let measures = input::measures(&self.measures, MEASURES)?;
        let folders = self.files.iter().filter(|path| path.is_dir()).count();
        match (&self.qrels, self.files.as_slice()) {
            (None, runs @ [_, _, ..]) if folders == runs.len() => Systems::from_reports(self, runs),
            (Some(qrels), runs @ [_, _, ..]) => Systems::from_runs(self, runs, qrels, &measures),
            (Some(_), _) => bail!("expected two runs or more with --qrels FILE"),
            (None, [scored @ .., data]) if scored.len() >= 2 => Systems::from_scores(self, scored, data, &measures),
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
}

/// Puts the values of the systems together with the tests of all pairs, given as `pairs[measure]`.
fn report(systems: &Systems, pairs: Vec<Vec<Comparison>>, config: ComparisonConfig) -> ComparisonReport {
    let first = &systems.evaluations[0];
    let compared = |(at, pairs): (usize, Vec<Comparison>)| ComparedMeasure {
        measure: first.means[at].0,
        values: systems.evaluations.iter().map(|evaluation| evaluation.per_query[at].clone()).collect(),
        pairs,
    };
    ComparisonReport {
        convention: first.convention.clone(),
        queries: first.queries,
        empty_queries: first.empty_queries,
        systems: systems.names.clone(),
        query_ids: systems.queries.clone(),
        folds: systems.folds.clone(),
        measures: pairs.into_iter().enumerate().map(compared).collect(),
        config,
    }
}
