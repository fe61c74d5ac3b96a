//! Tables of what was measured.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::record::{Record, Records};

/// Test figures: a row for each loss, its temperature and the scorer; a column for each set and measure.
pub fn figures(records: &Records) -> String {
    let mut rows: BTreeMap<(String, String, String), BTreeMap<&str, Vec<&Record>>> = BTreeMap::new();
    for record in &records.all {
        let key = &record.key;
        let row = (key.loss.clone(), temperature(record), key.scorer.clone());
        rows.entry(row).or_default().entry(&key.set).or_default().push(record);
    }
    let mut text = String::from("| loss | temperature | scorer | data | NDCG@10 | MAP |\n|---|---|---|---|---|---|\n");
    for ((loss, temperature, scorer), sets) in &rows {
        for (set, folds) in sets {
            let column = |measure: &str| {
                let values = test_values(folds, measure);
                let (mean, error) = mean_and_error(&values);
                format!("{mean:.4} ± {error:.4}")
            };
            let _ = writeln!(
                text,
                "| {loss} | {temperature} | {scorer} | {set} | {} | {} |",
                column("ndcg@10"),
                column("map")
            );
        }
    }
    text
}

/// Validation figures: a row for each set, scorer, loss and temperature; a column for each measure.
pub fn choice(records: &Records) -> String {
    let mut rows: BTreeMap<(&str, &str, &str), Vec<(f64, &Record)>> = BTreeMap::new();
    for record in &records.all {
        let key = &record.key;
        let row = rows.entry((&key.set, &key.scorer, &key.loss)).or_default();
        row.push((key.temperature.unwrap_or(f64::NAN), record));
    }
    let mut text = String::from("set\tscorer\tloss\ttemperature\tmeasure\tvalidation\n");
    for ((set, scorer, loss), row) in &mut rows {
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        for same in row.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            for index in 0..same[0].1.fits.len() {
                let values: Vec<f64> = same.iter().map(|(_, record)| record.fits[index].validation).collect();
                let (temperature, measure) = (temperature(same[0].1), &same[0].1.fits[index].measure);
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let _ = writeln!(text, "{set}\t{scorer}\t{loss}\t{temperature}\t{measure}\t{mean:.4}");
            }
        }
    }
    text
}

fn temperature(record: &Record) -> String {
    record.key.temperature.map_or_else(|| "default".to_owned(), |value| value.to_string())
}

fn test_values(folds: &[&Record], measure: &str) -> Vec<f64> {
    let fits = folds.iter().flat_map(|record| &record.fits).filter(|fit| fit.measure == measure);
    fits.flat_map(|fit| fit.test.iter().flatten().copied()).collect()
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
