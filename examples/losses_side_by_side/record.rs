//! The record of the trainings, as lines of JSON in a file, so that a long run can continue.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Failure;

/// The key that identifies a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub set: String,
    pub scorer: String,
    pub loss: String,
    /// In spreads of scores; none for the default of the loss.
    pub temperature: Option<f64>,
    pub epochs: u64,
    pub seed: u64,
    /// The fold, from 1.
    pub fold: usize,
}

/// The best epoch by one measure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fit {
    pub measure: String,
    /// Mean over the validation queries.
    pub validation: f64,
    /// One value for each test query that the convention counts.
    pub test: Vec<Option<f64>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub key: Key,
    pub fits: Vec<Fit>,
}

/// All that was measured.
pub struct Records {
    pub all: Vec<Record>,
    known: HashSet<String>,
    out: Option<File>,
}

impl Records {
    /// Reads what the file has, if there is one. A last line that was cut off is left out.
    pub fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let mut records = Self { all: Vec::new(), known: HashSet::new(), out: None };
        let Some(path) = path else { return Ok(records) };
        let text = if path.exists() { std::fs::read_to_string(&path)? } else { String::new() };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        for (number, line) in whole.lines().enumerate() {
            let record: Record =
                serde_json::from_str(line).map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
            records.known.insert(serde_json::to_string(&record.key)?);
            records.all.push(record);
        }
        let out = OpenOptions::new().create(true).append(true).open(&path)?;
        out.set_len(whole.len() as u64)?;
        records.out = Some(out);
        Ok(records)
    }

    pub fn has(&self, key: &Key) -> bool {
        serde_json::to_string(key).is_ok_and(|key| self.known.contains(&key))
    }

    pub fn add(&mut self, key: Key, fits: Vec<Fit>) -> Result<(), Failure> {
        self.known.insert(serde_json::to_string(&key)?);
        let record = Record { key, fits };
        if let Some(out) = &mut self.out {
            out.write_all((serde_json::to_string(&record)? + "\n").as_bytes())?;
        }
        self.all.push(record);
        Ok(())
    }
}
