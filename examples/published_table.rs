//! The table of `configs/published/README.md`: our five-fold results beside the published ones.
//!
//! ```text
//! for config in configs/published/*/*.toml; do burn-rank cv $config --json > ${config%.toml}.json; done
//! cargo run --example published_table            writes configs/published/README.md
//! cargo run --example published_table -- --check fails if that file is not what the results say
//! ```
//!
//! A file `NAME@CONVENTION.json` is the result of `NAME.toml` with `--set measure.convention=CONVENTION`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures by name.
type Measures = BTreeMap<String, f64>;

/// The published results on one data set, from `published.toml`.
#[derive(Deserialize)]
struct Published {
    title: String,
    about: String,
    source: String,
    rows: BTreeMap<String, Measures>,
}

/// The parts that are read of a result of `burn-rank cv --json`.
#[derive(Deserialize)]
struct CrossValidation {
    measures: Measures,
    standard_errors: Measures,
    folds: Vec<Value>,
}

/// The data sets, in the order of the page.
const DATA: [&str; 3] = ["letor3-ohsumed", "letor2-ohsumed", "mq2008"];

/// The columns: measure and heading.
const COLUMNS: [(&str, &str); 6] = [
    ("map", "MAP"),
    ("ndcg@1", "NDCG@1"),
    ("ndcg@3", "NDCG@3"),
    ("ndcg@5", "NDCG@5"),
    ("ndcg@10", "NDCG@10"),
    ("ndcg", "NDCG@n"),
];

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/published");
    let readme = folder.join("README.md");
    let text = render(&folder)?;
    match std::env::args().nth(1).as_deref() {
        None => fs::write(readme, text)?,
        Some("--check") if fs::read_to_string(&readme)? == text => {}
        Some("--check") => return Err("configs/published/README.md is not what the results say: run this again".into()),
        Some(other) => return Err(format!("found {other}, expected nothing or --check").into()),
    }
    Ok(())
}

fn render(folder: &Path) -> Result<String> {
    let published: BTreeMap<String, Published> = toml::from_str(&fs::read_to_string(folder.join("published.toml"))?)?;
    let mut text = fs::read_to_string(folder.join("protocol.md"))?;
    for data in DATA {
        let published = published.get(data).ok_or_else(|| format!("published.toml: {data} is missing"))?;
        write!(text, "\n## {}\n\n{}\nPublished: {}.\n\n", published.title, published.about, published.source)?;
        let names: Vec<&str> = COLUMNS.iter().map(|(_, name)| *name).collect();
        writeln!(text, "| ranker | selected by | {} |", names.join(" | "))?;
        writeln!(text, "|---|---|{}", "---|".repeat(names.len()))?;
        let results = files(&folder.join(data), "json")?;
        for config in files(&folder.join(data), "toml")? {
            let name = stem(&config)?;
            let of_config: Vec<&PathBuf> = results
                .iter()
                .filter(|path| stem(path).is_ok_and(|stem| stem.split('@').next() == Some(name)))
                .collect();
            if of_config.is_empty() {
                writeln!(text, "| [{name}]({data}/{name}.toml) | not computed yet |{}", " |".repeat(COLUMNS.len()))?;
            }
            for result in of_config {
                text += &row(data, result, &published.rows)?;
            }
        }
    }
    text += "\n";
    text += &fs::read_to_string(folder.join("deviations.md"))?;
    Ok(text)
}

/// Formats one line of a table: our value ± standard error, and the published value in brackets.
fn row(data: &str, result: &Path, published: &BTreeMap<String, Measures>) -> Result<String> {
    let stem = stem(result)?;
    let (name, convention) = stem.split_once('@').unwrap_or((stem, "letor"));
    let path = result.with_file_name(format!("{name}.toml"));
    let config: toml::Value = toml::from_str(&fs::read_to_string(&path)?)?;
    let said = |key: &str| key.split('.').try_fold(&config, |table, key| table.get(key)).and_then(toml::Value::as_str);
    let missing = |key: &str| format!("{}: {key} is missing", path.display());
    let title = said("description").ok_or_else(|| missing("description"))?;
    let select = said("measure.select").ok_or_else(|| missing("measure.select"))?;
    let found: CrossValidation =
        serde_json::from_str(&fs::read_to_string(result)?).map_err(|error| format!("{}: {error}", result.display()))?;
    if found.folds.len() != 5 {
        return Err(format!("{}: not the result of five complete folds", result.display()).into());
    }
    let other = if convention == "letor" { String::new() } else { format!(", `{convention}` convention") };
    let mut line = format!("| [{title}]({data}/{name}.toml){other} | {select} |");
    for (measure, _) in COLUMNS {
        let (ours, error) = (found.measures[measure], found.standard_errors[measure]);
        write!(line, " {ours:.4} ± {error:.4}")?;
        // A result in another convention is compared only with the one published figure whose discount is not known for
        // certain.
        let comparable = convention == "letor" || measure == "ndcg";
        if let Some(theirs) = published.get(name).and_then(|row| row.get(measure)).filter(|_| comparable) {
            write!(line, " ({theirs})")?;
        }
        line += " |";
    }
    Ok(line + "\n")
}

fn stem(path: &Path) -> Result<&str> {
    Ok(path.file_stem().and_then(|stem| stem.to_str()).ok_or("a file name that is not UTF-8")?)
}

/// Returns the files of a folder with this extension, by name.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}
