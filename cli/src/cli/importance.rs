//! `burn-rank importance` shows how much a measure drops when the values of a feature are shuffled.

use std::num::NonZeroUsize;

use burn_rank::measure::significance::{ComparisonConfig, bootstrap};
use burn_rank::ranker::PermutationImportance;
use serde::Serialize;

use super::*;
use crate::experiment::linear_weights;

/// Arguments of `importance`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/importance.txt").trim_ascii_end())]
pub struct ImportanceArgs {
    /// A saved ranker, or the folder of a `train` run
    model: PathBuf,
    /// LETOR text or tables with labels; `-` is standard input
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// The measure
    #[arg(short, long, default_value = "ndcg@10")]
    measure: Measure,
    /// Convention, such as standard, letor or trec_eval [default: the model's]
    #[arg(short, long)]
    convention: Option<String>,
    /// Number of shuffles of each feature
    #[arg(long, default_value = "5")]
    repeats: NonZeroUsize,
    /// Seed of the shuffles
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shuffle among all documents instead of within each query
    #[arg(long)]
    across: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) scoring: input::ScoringArgs,
}

/// The importance of a feature and its confidence interval.
#[derive(Serialize)]
struct Row {
    feature: usize,
    loss: f64,
    low: f64,
    high: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f32>,
}

impl ImportanceArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result {
        input::once(&self.data)?;
        let device = self.scoring.device()?;
        let ranker = input::ranker(&self.model, &device)?;
        self.scoring.reading.check(&ranker)?;
        let data = self.scoring.reading.read(&self.data, Some((&self.model, &ranker)))?;
        let convention = input::convention_or(self.convention.as_deref(), || ranker.metadata().convention.clone())?;
        let importance = PermutationImportance { repeats: self.repeats, seed: self.seed, across_queries: self.across };
        let work = Work::of("features", data.feature_count);
        let found =
            importance.of(&ranker, &data, self.measure, &convention, &device, &|features| work.done(features))?;
        drop(work);
        let row = |(feature, losses)| row(&ranker, feature, losses);
        let mut rows = (1..).zip(found).map(row).collect::<Result<Vec<_>, _>>()?;
        rows.sort_by(|a, b| b.loss.total_cmp(&a.loss));

        if self.json {
            let record = json!({
                "measure": self.measure.to_string(), "convention": convention, "queries": data.queries(),
                "repeats": self.repeats.get(), "seed": self.seed, "across": self.across, "features": rows,
            });
            return Ok(writeln!(out, "{record}")?);
        }
        let (queries, shuffles) = (counted(data.queries(), "query"), counted(self.repeats.get(), "shuffle"));
        let among = if self.across { "among all documents" } else { "within queries" };
        let (measure, convention) = (self.measure, convention.name);
        writeln!(out, "{measure} in the {convention} convention, {queries}, {shuffles} {among}")?;
        write!(out, "{}", table(&rows).text())?;
        Ok(writeln!(out, "How to read this: burn-rank importance --help")?)
    }
}

/// Adds a confidence interval, a name and a weight to the losses of a feature.
fn row(ranker: &Ranker, feature: usize, losses: Vec<Option<f64>>) -> Result<Row> {
    let losses: Vec<f64> = losses.into_iter().flatten().collect();
    let interval = bootstrap(&losses, &ComparisonConfig { resamples: 10_000, ..ComparisonConfig::default() })?;
    let names = ranker.metadata().feature_names.as_ref();
    Ok(Row {
        feature,
        name: names.and_then(|names| names.get(feature - 1)).cloned(),
        loss: losses.iter().sum::<f64>() / losses.len() as f64,
        low: interval.low,
        high: interval.high,
        weight: linear_weights(ranker).and_then(|weights| weights.get(feature - 1).copied()),
    })
}

fn table(rows: &[Row]) -> Table {
    let named = rows.iter().any(|row| row.name.is_some());
    let weighed = rows.iter().any(|row| row.weight.is_some());
    let columns = ["loss", "low", "high"].into_iter().chain(weighed.then_some("weight")).chain(named.then_some("name"));
    let rows = rows.iter().map(|row| {
        let figures = [row.loss, row.low, row.high].into_iter().chain(row.weight.map(f64::from));
        let cells = figures.map(|value| format!("{value:+.4}")).chain(row.name.clone());
        (row.feature.to_string(), cells)
    });
    Table::new("feature", columns).with(rows)
}
