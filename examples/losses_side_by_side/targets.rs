//! The targets of the default temperatures: NDCG and AP cells compared with ListNet, and every cell's own measure
//! compared with its tuned value.

use std::fmt::Write;

use burn_rank::loss::{Cell, MeasureName, RelaxationName};

use super::Failure;
use super::record::Records;
use super::table::{
    BASELINE, Losses, Trained, by_loss, default_temperature, difference, own_measure, test_values, validation,
};

/// A cell may be this far below ListNet beyond two standard errors, by scorer.
const BELOW_BASELINE: [(&str, f64); 2] = [("linear", 0.010), ("mlp", 0.020)];

/// A cell's own measure may be this far below its tuned value.
const BELOW_TUNED: f64 = 0.02;

/// Both targets, with every miss by name.
pub fn figures(records: &Records) -> Result<String, Failure> {
    let mut text = String::new();
    for (scorer, allowed) in BELOW_BASELINE {
        let of_scorer: Vec<_> = records.all.iter().filter(|record| record.key.scorer == scorer).collect();
        let losses = by_loss(&of_scorer);
        let (of, misses) = beside_baseline(&losses, allowed)?;
        writeln!(text, "\n{scorer}: not below {BASELINE} by more than {allowed} beyond two standard errors")?;
        report(&mut text, of, &misses)?;
        let (of, misses) = beside_tuned(&losses)?;
        writeln!(text, "\n{scorer}: own measure not more than {BELOW_TUNED} below that at the tuned temperature")?;
        report(&mut text, of, &misses)?;
    }
    Ok(text)
}

fn report(text: &mut String, of: usize, misses: &[String]) -> Result<(), Failure> {
    writeln!(text, "{} of {of} (cell, set)", of - misses.len())?;
    misses.iter().try_for_each(|miss| writeln!(text, "- {miss}"))?;
    Ok(())
}

/// The number of cells and sets that were measured, and the misses among them. NDCG cells count by NDCG@10, AP cells by
/// MAP.
fn beside_baseline(losses: &Losses, allowed: f64) -> Result<(usize, Vec<String>), Failure> {
    let (mut of, mut misses) = (0, Vec::new());
    for measure in [MeasureName::Ndcg, MeasureName::Ap] {
        for relaxation in RelaxationName::ALL {
            let cell = format!("{}:{}", measure.name(), relaxation.name());
            let Some((column, default)) = own_measure(measure).zip(default_temperature(&cell)?) else { continue };
            for (set, all) in losses.get(cell.as_str()).into_iter().flatten() {
                let baseline = losses.get(BASELINE).and_then(|of_sets| of_sets.get(set)).map(|all| &all[0]);
                let Some((trained, baseline)) = at(all, default).zip(baseline) else { continue };
                let Some((mean, error)) = difference(trained, baseline, column) else { continue };
                of += 1;
                if mean + 2.0 * error < -allowed {
                    misses.push(format!("`{cell}`, {set}: {mean:+.4} ± {error:.4}"));
                }
            }
        }
    }
    Ok((of, misses))
}

/// The same for test values at the default and at the temperature with the best validation value.
fn beside_tuned(losses: &Losses) -> Result<(usize, Vec<String>), Failure> {
    let (mut of, mut misses) = (0, Vec::new());
    for cell in Cell::all() {
        let name = format!("{}:{}", cell.measure.name(), cell.relaxation.name());
        let Some((column, default)) = own_measure(cell.measure).zip(default_temperature(&name)?) else { continue };
        for (set, all) in losses.get(name.as_str()).into_iter().flatten() {
            let tuned = all.iter().filter(|trained| trained[0].key.temperature.is_some());
            let tuned = tuned.max_by(|a, b| validation(a, column).total_cmp(&validation(b, column)));
            let Some((trained, tuned)) = at(all, default).zip(tuned).filter(|_| all.len() > 1) else { continue };
            of += 1;
            let (value, best) = (mean(trained, column), mean(tuned, column));
            if value < best - BELOW_TUNED {
                let temperature = tuned[0].key.temperature.unwrap_or(default);
                misses.push(format!("`{name}`, {set}: {value:.4}, {best:.4} at {temperature}"));
            }
        }
    }
    Ok((of, misses))
}

fn at<'a, 'b>(all: &'b [Trained<'a>], temperature: f64) -> Option<&'b Trained<'a>> {
    all.iter().find(|trained| trained[0].key.temperature == Some(temperature))
}

fn mean(trained: &Trained, measure: &str) -> f64 {
    let values = test_values(trained, measure);
    values.iter().sum::<f64>() / values.len() as f64
}
