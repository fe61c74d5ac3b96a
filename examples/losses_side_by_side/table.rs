//! Tables of what was measured.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use burn_rank::loss::{Cell, LossSpec, MeasureName};

use super::Failure;
use super::record::{Record, Records};

/// The loss that every other is compared with, query by query.
pub const BASELINE: &str = "list_net";

const MEASURES: [&str; 2] = ["ndcg@10", "map"];

/// The trainings of one loss at one temperature on all folds of one set, by fold and seed.
pub type Trained<'a> = Vec<&'a Record>;

/// By loss and set: the trainings at each temperature.
pub type Losses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<Trained<'a>>>>;

/// Test figures, a table for each scorer and measure: a row for each loss at its default temperature and, where there
/// are several, at that with the best validation value in each set; a column for each set.
pub fn figures(records: &Records) -> Result<String, Failure> {
    let scorers: BTreeSet<&str> = records.all.iter().map(|record| record.key.scorer.as_str()).collect();
    let mut text = String::new();
    for scorer in scorers {
        let of_scorer: Vec<&Record> = records.all.iter().filter(|record| record.key.scorer == scorer).collect();
        let (names, losses) = (sets_of(&of_scorer), by_loss(&of_scorer));
        for measure in MEASURES {
            writeln!(text, "\n{scorer}, test {measure} (minus {BASELINE} ± paired standard error)\n")?;
            writeln!(text, "| loss | temperature | {} |", names.join(" | "))?;
            writeln!(text, "|---|---|{}", "---|".repeat(names.len()))?;
            for (loss, of_sets) in &losses {
                for row in rows(loss, of_sets)? {
                    let cells = names.iter().map(|set| {
                        let trained = of_sets.get(set).and_then(|all| row.choose(all, measure));
                        let baseline = losses.get(BASELINE).and_then(|of_sets| of_sets.get(set)).map(|all| &all[0]);
                        trained.map_or("".to_owned(), |trained| row.cell(trained, baseline, measure))
                    });
                    let cells: Vec<String> = cells.collect();
                    writeln!(text, "| `{loss}` | {} | {} |", row.label(), cells.join(" | "))?;
                }
            }
        }
    }
    Ok(text)
}

/// Each cell's own measure on test queries at the default temperature and at that with the best validation value, a table for
/// each scorer: a row for each cell, a column for each set.
pub fn own_measures(records: &Records) -> Result<String, Failure> {
    let scorers: BTreeSet<&str> = records.all.iter().map(|record| record.key.scorer.as_str()).collect();
    let mut text = String::new();
    for scorer in scorers {
        let of_scorer: Vec<&Record> = records.all.iter().filter(|record| record.key.scorer == scorer).collect();
        let (sets, losses) = (sets_of(&of_scorer), by_loss(&of_scorer));
        writeln!(text, "\n{scorer}, each cell's own measure: at the default temperature, tuned\n")?;
        writeln!(text, "| cell | measure | default | {} |", sets.join(" | "))?;
        writeln!(text, "|---|---|---|{}", "---|".repeat(sets.len()))?;
        for cell in Cell::all() {
            let name = format!("{}:{}", cell.measure.name(), cell.relaxation.name());
            let Some((measure, default)) = own_measure(cell.measure).zip(default_temperature(&name)?) else { continue };
            let Some(of_sets) = losses.get(name.as_str()) else { continue };
            let figures = sets.iter().map(|set| {
                let [default, tuned] = [Row::Default(default), Row::Tuned].map(|row| {
                    let trained = of_sets.get(set).and_then(|all| row.choose(all, measure));
                    trained.map_or(String::new(), |trained| row.cell(trained, None, measure))
                });
                if tuned.is_empty() { default } else { format!("{default}, {tuned}") }
            });
            let figures: Vec<String> = figures.collect();
            writeln!(text, "| `{name}` | {measure} | {default} | {} |", figures.join(" | "))?;
        }
    }
    Ok(text)
}

/// The column of the tables that is this measure; none for DCG and recall, which they have not.
pub fn own_measure(measure: MeasureName) -> Option<&'static str> {
    Some(match measure {
        MeasureName::Ndcg => "ndcg@10",
        MeasureName::Ap => "map",
        MeasureName::Rr => "mrr",
        MeasureName::Err => "err",
        MeasureName::Precision => "p@5",
        MeasureName::Success => "success@5",
        MeasureName::Rbp => "rbp@p=0.8",
        MeasureName::RPrecision => "r_precision",
        MeasureName::KendallTau => "kendall_tau",
        MeasureName::Dcg | MeasureName::Recall => return None,
    })
}

fn sets_of<'a>(records: &[&'a Record]) -> Vec<&'a str> {
    let sets: BTreeSet<&str> = records.iter().map(|record| record.key.set.as_str()).collect();
    sets.into_iter().collect()
}

/// Which temperature a row shows.
enum Row {
    /// None: the loss has no temperature.
    Plain,
    /// The papers' temperature.
    Papers,
    /// The temperature of a configuration file that names none, in spreads.
    Default(f64),
    /// The best on validation queries, set by set.
    Tuned,
}

impl Row {
    fn label(&self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Papers => "papers'".to_owned(),
            Self::Default(value) => value.to_string(),
            Self::Tuned => "tuned".to_owned(),
        }
    }

    fn choose<'a, 'b>(&self, all: &'b [Trained<'a>], measure: &str) -> Option<&'b Trained<'a>> {
        let at = |value: Option<f64>| all.iter().find(|trained| trained[0].key.temperature == value);
        match self {
            Self::Plain | Self::Papers => at(None),
            Self::Default(value) => at(Some(*value)),
            Self::Tuned => {
                let in_spreads = || all.iter().filter(|trained| trained[0].key.temperature.is_some());
                if in_spreads().count() < 2 {
                    return None;
                }
                in_spreads().max_by(|a, b| validation(a, measure).total_cmp(&validation(b, measure)))
            }
        }
    }

    fn cell(&self, trained: &Trained, baseline: Option<&Trained>, measure: &str) -> String {
        let values = test_values(trained, measure);
        let (mean, _) = mean_and_error(&values);
        let temperature = match (self, trained[0].key.temperature) {
            (Self::Tuned, Some(value)) => format!(" at {value}"),
            _ => String::new(),
        };
        match baseline.map(|baseline| difference(trained, baseline, measure)) {
            Some(Some((difference, error))) => format!("{mean:.4} ({difference:+.4} ± {error:.4}){temperature}"),
            // The mean of some folds compares with nothing.
            Some(None) => String::new(),
            None => format!("{mean:.4}{temperature}"),
        }
    }
}

/// The rows of a loss: those for which something was measured.
fn rows(loss: &str, of_sets: &BTreeMap<&str, Vec<Trained>>) -> Result<Vec<Row>, Failure> {
    let spec = LossSpec::parse(loss);
    let temperatures: BTreeSet<Option<u64>> =
        of_sets.values().flatten().map(|trained| trained[0].key.temperature.map(f64::to_bits)).collect();
    if spec.smoothing()?.is_none() {
        return Ok(vec![Row::Plain]);
    }
    let mut rows = Vec::new();
    if temperatures.contains(&None) {
        rows.push(Row::Papers);
    }
    if let Some(value) = default_temperature(loss)?.filter(|value| temperatures.contains(&Some(value.to_bits()))) {
        rows.push(Row::Default(value));
    }
    if temperatures.iter().flatten().count() > 1 {
        rows.push(Row::Tuned);
    }
    Ok(rows)
}

/// The default temperature of a loss, in spreads.
pub fn default_temperature(loss: &str) -> Result<Option<f64>, Failure> {
    let spec = LossSpec::parse(loss);
    let Some(smoothing) = spec.smoothing()? else { return Ok(None) };
    let relative = spec.with_default_temperature(Some(1.0))?;
    let value = relative.params.get(smoothing.parameter).map(|value| value.to_string().parse());
    Ok(value.transpose()?)
}

/// The mean difference over test queries and its paired standard error; none where not the same folds were run.
pub fn difference(trained: &Trained, other: &Trained, measure: &str) -> Option<(f64, f64)> {
    let (values, others) = (test_values(trained, measure), test_values(other, measure));
    let differences = values.iter().zip(&others).map(|(value, other)| value - other);
    (values.len() == others.len()).then(|| mean_and_error(&differences.collect::<Vec<f64>>()))
}

/// Validation figures: a row for each set, scorer, loss and temperature; a column for each measure.
pub fn choice(records: &Records) -> String {
    let mut text = String::from("set\tscorer\tloss\ttemperature\tmeasure\tvalidation\n");
    let scorers: BTreeSet<&str> = records.all.iter().map(|record| record.key.scorer.as_str()).collect();
    for scorer in scorers {
        let of_scorer: Vec<&Record> = records.all.iter().filter(|record| record.key.scorer == scorer).collect();
        for (loss, of_sets) in by_loss(&of_scorer) {
            for (set, all) in of_sets {
                for trained in all {
                    let value = trained[0].key.temperature.map_or("papers'".to_owned(), |value| value.to_string());
                    for fit in &trained[0].fits {
                        let (measure, mean) = (&fit.measure, validation(&trained, &fit.measure));
                        text += &format!("{set}\t{scorer}\t{loss}\t{value}\t{measure}\t{mean:.4}\n");
                    }
                }
            }
        }
    }
    text
}

pub fn by_loss<'a>(records: &[&'a Record]) -> Losses<'a> {
    let mut losses = Losses::new();
    for &record in records {
        let all = losses.entry(&record.key.loss).or_default().entry(&record.key.set).or_default();
        match all.iter_mut().find(|trained| trained[0].key.temperature == record.key.temperature) {
            Some(trained) => trained.push(record),
            None => all.push(vec![record]),
        }
    }
    for all in losses.values_mut().flat_map(BTreeMap::values_mut) {
        all.iter_mut().for_each(|trained| trained.sort_by_key(|record| (record.key.fold, record.key.seed)));
        all.sort_by(|a, b| {
            a[0].key.temperature.partial_cmp(&b[0].key.temperature).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    losses
}

/// Mean over folds and seeds of the validation value at the best epoch.
pub fn validation(trained: &Trained, measure: &str) -> f64 {
    let fits = trained.iter().flat_map(|record| &record.fits).filter(|fit| fit.measure == measure);
    fits.map(|fit| fit.validation).sum::<f64>() / trained.len() as f64
}

/// For each test query that counts, the mean over the seeds.
pub fn test_values(trained: &Trained, measure: &str) -> Vec<f64> {
    let of_fold = |seeds: &[&Record]| {
        let fits = seeds.iter().flat_map(|record| &record.fits).filter(|fit| fit.measure == measure);
        let values: Vec<Vec<f64>> = fits.map(|fit| fit.test.iter().flatten().copied().collect()).collect();
        let queries = values.first().map_or(0, Vec::len);
        let mean = |query: usize| values.iter().map(|values| values[query]).sum::<f64>() / values.len() as f64;
        (0..queries).map(mean).collect::<Vec<f64>>()
    };
    trained.chunk_by(|a, b| a.key.fold == b.key.fold).flat_map(of_fold).collect()
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
