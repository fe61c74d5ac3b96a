//! The table of `benchmarks/published.md`: the five-fold results of this crate next to the published ones.
//!
//! ```text
//! .ci/tables                                     makes every result, and records what made it
//! cargo run --example published_table            writes benchmarks/published.md
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

/// The record of what made a result, from `made.toml`, which `.ci/tables` writes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    version: String,
    processor: String,
    instructions: String,
}

/// Configurations whose learner does not optimize a measure.
const BASELINES: [&str; 6] = ["frank", "lambda-mart", "list-net", "rank-boost", "rank-svm", "regression"];

/// Number of rankers of each data set in the summary.
const FIRST: usize = 6;

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/published");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benchmarks/published.md");
    let text = render(&folder)?;
    match std::env::args().nth(1).as_deref() {
        None => fs::write(page, text)?,
        Some("--check") if fs::read_to_string(&page)? == text => {}
        Some("--check") => return Err("benchmarks/published.md is not what the results say: run this again".into()),
        Some(other) => return Err(format!("found {other}, expected nothing or --check").into()),
    }
    Ok(())
}

fn render(folder: &Path) -> Result<String> {
    let published: BTreeMap<String, Published> = toml::from_str(&fs::read_to_string(folder.join("published.toml"))?)?;
    let mut text = fs::read_to_string(folder.join("protocol.md"))?;
    let made: BTreeMap<String, Made> = toml::from_str(&fs::read_to_string(folder.join("made.toml"))?)?;
    text += &first(folder, &published)?;
    for data in DATA {
        let published = published.get(data).ok_or_else(|| format!("published.toml: {data} is missing"))?;
        write!(text, "\n## {}\n\n{}\n{}\n\n", published.title, published.about, published.source)?;
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
                writeln!(
                    text,
                    "| [{name}](../configs/published/{data}/{name}.toml) | not computed yet |{}",
                    " |".repeat(COLUMNS.len())
                )?;
            }
            for result in of_config {
                text += &row(data, result, &published.rows)?;
            }
        }
        text += &provenance(data, &results, &made)?;
    }
    text += "\n";
    text += &fs::read_to_string(folder.join("deviations.md"))?;
    Ok(text)
}

/// Says what made the results of a data set, as far as that is recorded.
fn provenance(data: &str, results: &[PathBuf], made: &BTreeMap<String, Made>) -> Result<String> {
    let mut by: BTreeMap<&Made, Vec<&str>> = BTreeMap::new();
    let mut unknown = 0;
    for result in results {
        let name = stem(result)?;
        match made.get(&format!("{data}/{name}")) {
            Some(found) => by.entry(found).or_default().push(name),
            None => unknown += 1,
        }
    }
    let mut text = String::from("\n");
    for (Made { version, processor, instructions }, names) in by {
        let rows = match names.len() {
            all if all == results.len() => "these rows".to_string(),
            _ => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        writeln!(text, "burn-rank {version} made {rows} on {processor} with `{instructions}`.")?;
    }
    if unknown > 0 {
        writeln!(text, "For {unknown} rows, what made them was not recorded.")?;
    }
    Ok(text)
}

/// Formats the rankers of each data set with the highest NDCG@10, side by side.
fn first(folder: &Path, published: &BTreeMap<String, Published>) -> Result<String> {
    let mut columns = Vec::new();
    for data in DATA {
        let mut column = Vec::new();
        for result in files(&folder.join(data), "json")? {
            let name = stem(&result)?;
            if name.contains('@') {
                continue;
            }
            let config: toml::Value = toml::from_str(&fs::read_to_string(result.with_extension("toml"))?)?;
            let title = config
                .get("description")
                .and_then(toml::Value::as_str)
                .ok_or_else(|| format!("{name}: description is missing"))?;
            let found: CrossValidation = serde_json::from_str(&fs::read_to_string(&result)?)?;
            let mark = if BASELINES.contains(&name) { "*" } else { "" };
            let (mean, error) = (found.measures["ndcg@10"], found.standard_errors["ndcg@10"]);
            column.push((mean, error, format!("{mark}{title}{mark} | {mean:.4} ± {error:.4}")));
        }
        column.sort_by(|a, b| b.0.total_cmp(&a.0));
        columns.push(column);
    }
    // The first and the last that are shown, and the smallest standard error among them.
    let spread =
        columns.iter().filter_map(|column| Some(column.first()?.0 - column.get(FIRST - 1)?.0)).fold(0.0, f64::max);
    let error =
        columns.iter().flat_map(|column| column.iter().take(FIRST)).map(|row| row.1).fold(f64::INFINITY, f64::min);
    let titles: Vec<&str> = DATA.iter().map(|data| published[*data].title.as_str()).collect();
    let mut text = format!(
        "\n## Which ranker is first\n\nThe table lists the {FIRST} best rankers of each data set by test NDCG@10. *Those in italics* do not\noptimize a measure. \
         Within a column, rankers differ by at most {spread:.4}; one standard error is at least {error:.4}.\n\n| {} | |\n|{}\n",
        titles.join(" | | "),
        "---|---|".repeat(DATA.len())
    );
    for place in 0..FIRST {
        let cells: Vec<&str> = columns.iter().filter_map(|column| Some(column.get(place)?.2.as_str())).collect();
        writeln!(text, "| {} |", cells.join(" | "))?;
    }
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
    let mut line = format!("| [{title}](../configs/published/{data}/{name}.toml){other} | {select} |");
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
