//! Writes what follows from the registries: tables of the pages and of the documentation, and the type stubs of the Python
//! package.
//!
//! ```text
//! cargo run --example made               writes them
//! cargo run --example made -- --check    fails if one of them is not what the registries say
//! ```
//!
//! A table stands between two lines of comment, `<!-- made: NAME -->` and `<!-- end of NAME -->`. In the stubs, everything
//! after `# Made:` is made. In the tables of keys, keys and defaults are made. The words about a key stay as somebody wrote
//! them; a new key gets the first sentence of its field's documentation.

#[path = "../tests/common/same_value.rs"]
mod same_value;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use burn_rank::json::{Map, Value, from_value};
use burn_rank::loss::{MeasureName, RelaxationName};
use burn_rank::scorer::ScorerConfig;
use burn_rank::workbench::Cell;
use burn_rank::workbench::json::json;
use burn_rank::workbench::ranker::{EXPORTS, IMPORTS};
use burn_rank::workbench::registry::{LEARNERS, LOSSES};

use same_value::same_value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A file with what is made in it: its path, and the function that makes its text anew.
type Made = (&'static str, fn(&str) -> Result<String>);

fn main() -> Result<()> {
    let check = std::env::args().any(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has no repository")?;
    let made: [Made; 7] = [
        ("src/loss/mod.rs", |page| with_table(page, "losses", "//! ", &losses())),
        ("benchmarks/losses.md", |page| with_table(page, "cells", "", &cells())),
        ("docs/how-to/export.md", |page| with_table(page, "exports", "", &exports())),
        ("docs/how-to/import.md", |page| with_table(page, "imports", "", &imports())),
        ("docs/reference/configuration/learners.md", with_learners),
        ("docs/reference/configuration/scorers.md", with_scorers),
        ("python/burn_rank/torch.pyi", with_stubs),
    ];
    let mut stale = Vec::new();
    for (name, make) in made {
        let text = fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let made = make(&text).map_err(|error| format!("{name}: {error}"))?;
        if made != text && check {
            stale.push(name);
        } else if made != text {
            fs::write(root.join(name), made)?;
        }
    }
    match stale[..] {
        [] => Ok(()),
        _ => Err(format!("cargo run --example made would change {}", stale.join(", ")).into()),
    }
}

/// Rows of a table, the first of which is its header.
type Rows = Vec<Vec<String>>;

/// Returns the page with another table between the comments that name it. Each line begins with `margin`.
fn with_table(page: &str, name: &str, margin: &str, rows: &Rows) -> Result<String> {
    let [begin, end] = ["made:", "end of"].map(|what| format!("{margin}<!-- {what} {name} -->\n"));
    let (before, rest) = page.split_once(&begin).ok_or(format!("no {begin}"))?;
    let (_, after) = rest.split_once(&end).ok_or(format!("no {end}"))?;
    let mut table = String::new();
    for (number, row) in rows.iter().enumerate() {
        writeln!(table, "{margin}| {} |", row.join(" | "))?;
        if number == 0 {
            writeln!(table, "{margin}|{}", "---|".repeat(row.len()))?;
        }
    }
    let empty = margin.trim_end();
    Ok(format!("{before}{begin}{table}{empty}\n{end}{after}"))
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn losses() -> Rows {
    let mut rows = vec![row(["name", "type", "what", "cost"])];
    for entry in LOSSES {
        let link = format!("[`{}`]", entry.type_name());
        rows.push(row([&code(entry.name), &link, entry.summary, entry.cost]));
    }
    rows
}

/// The cost of each measure through each relaxation, and the name of the loss if it has its own.
fn cells() -> Rows {
    let relaxations = RelaxationName::ALL.iter().map(|relaxation| code(relaxation.name()));
    let header = ["measure".to_string()].into_iter().chain(relaxations).collect();
    let of = |&measure: &MeasureName| {
        let cell = |&relaxation: &RelaxationName| {
            let cell = Cell { measure, relaxation };
            let name = cell.named().map(|name| format!(" `{name}`")).unwrap_or_default();
            format!("{}{name}", cell.cost().mark())
        };
        [code(measure.name())].into_iter().chain(RelaxationName::ALL.iter().map(cell)).collect()
    };
    [header].into_iter().chain(MeasureName::ALL.iter().map(of)).collect()
}

fn exports() -> Rows {
    let mut rows = vec![row(["OUT or `--format`", "system", "holds", "normalizers", "scores"])];
    for entry in EXPORTS {
        let file = if entry.by_name { format!("`NAME.{}`, ", entry.extension) } else { String::new() };
        let name = format!("{file}{}", code(entry.name));
        rows.push(row([&name, entry.row]));
    }
    let systems = "this one, also from [other systems' rankers](import.md)";
    rows.push(row(["`NAME.safetensors`, `burn-rank`", systems, "every ranker", "all", "the same"]));
    rows
}

fn imports() -> Rows {
    let header = row(["system", "file", "decision", "scores"]);
    [header].into_iter().chain(IMPORTS.iter().map(|entry| row([entry.row]))).collect()
}

/// The learners with the sections that they read.
fn learners() -> Rows {
    let mut rows = vec![row(["kind", "what", "`[loss]`", "`[scorer]`"])];
    for entry in LEARNERS {
        let reads = |takes: bool| if takes { "read" } else { "refused" };
        let kind = format!("[`{0}`](#{0})", entry.name);
        rows.push(row([&kind, entry.summary, reads(entry.takes_loss), reads(entry.takes_scorer)]));
    }
    rows
}

/// Returns the page with the table of learners, and the tables of their keys.
fn with_learners(page: &str) -> Result<String> {
    let mut page = with_table(page, "learners", "", &learners())?;
    for entry in LEARNERS {
        // A short learner has its configuration in its one file.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/learner").join(entry.name);
        let file = if folder.join("config.rs").exists() { "config.rs" } else { "mod.rs" };
        let source = format!("src/learner/{}/{file}", entry.name);
        page = with_keys(&page, entry.name, &entry.parameters(), &source)?;
    }
    Ok(page)
}

/// Returns the page with the tables of the scorers' keys.
fn with_scorers(page: &str) -> Result<String> {
    let mut page = page.to_owned();
    for kind in ["linear", "mlp", "attention", "latent_cross"] {
        let scorer: ScorerConfig = from_value(json!({ "kind": kind })).map_err(|refusal| refusal.to_string())?;
        let Value::Object(parameters) = json!(scorer) else { return Err(format!("{kind} is no table").into()) };
        page = with_keys(&page, kind, &parameters, &format!("src/scorer/{kind}.rs"))?;
    }
    Ok(page)
}

/// The header of a table of keys.
const KEYS: &str = "| key | meaning | range | default |\n|---|---|---|---|\n";

/// Returns the page with these keys and their defaults in the table below `### NAME`. Rows keep their order, new ones
/// follow. `source` is the file that documents the fields.
fn with_keys(page: &str, name: &str, parameters: &Map, source: &str) -> Result<String> {
    let heading = format!("\n### `{name}`\n");
    let at = page.find(&heading).ok_or(format!("no heading {name}"))?;
    let start = at + page[at..].find(KEYS).ok_or(format!("no table of keys of {name}"))? + KEYS.len();
    let end = start + page[start..].find("\n\n").ok_or("the page ends in a table")? + 1;
    let key = |row: &&str| row.split('`').nth(1).unwrap_or_default().to_string();
    // A key that is left out where it has its default is a field all the same.
    let is_known = |key: &str| parameters.contains_key(key) || about_field(source, key).is_ok();
    let rows: Vec<&str> = page[start..end].lines().filter(|row| is_known(&key(row))).collect();
    let known: Vec<String> = rows.iter().map(key).collect();
    let mut table = String::new();
    for row in rows {
        let (words, default) = row.trim_end_matches(" |").rsplit_once(" | ").ok_or(format!("{name}: {row}"))?;
        let default = parameters.get(&key(&row)).map_or(default.to_owned(), |value| with_default(default, value));
        writeln!(table, "{words} | {default} |")?;
    }
    for (key, value) in parameters.iter().filter(|(key, _)| *key != "kind" && !known.contains(key)) {
        writeln!(table, "| `{key}` | {} | | {} |", about_field(source, key)?, with_default("", value))?;
    }
    Ok(format!("{}{table}{}", &page[..start], &page[end..]))
}

/// Returns the cell of a default, with the words that follow the value in the page.
fn with_default(cell: &str, value: &Value) -> String {
    let (written, words) = cell.strip_prefix('`').and_then(|rest| rest.split_once('`')).unwrap_or(("", ""));
    let is_same = |written: &str| match (written, value) {
        ("none", value) => value.is_null(),
        _ => toml::from_str::<toml::Table>(&format!("value = {written}"))
            .is_ok_and(|table| same_value(&json!(table["value"]), value)),
    };
    match value {
        // A table is described in words only.
        Value::Object(_) if !cell.is_empty() && written.is_empty() => cell.to_owned(),
        _ if is_same(written) => cell.to_owned(),
        Value::Null => format!("`none`{words}"),
        value => format!("`{value}`{words}"),
    }
}

/// Returns the first sentence of the documentation of a field.
fn about_field(source: &str, key: &str) -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has no repository")?;
    let text = fs::read_to_string(root.join(source)).map_err(|error| format!("{source}: {error}"))?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let field = lines.iter().position(|line| line.trim_start_matches("pub ").starts_with(&format!("{key}:")));
    let field = field.ok_or(format!("{source}: no field {key}"))?;
    let above = lines[..field].iter().rev().skip_while(|line| line.starts_with("#["));
    let mut words: Vec<&str> = above.map_while(|line| line.strip_prefix("/// ")).collect();
    words.reverse();
    Ok(words.join(" ").split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned())
}

/// Returns the stubs with a function for each loss of the registry.
fn with_stubs(stubs: &str) -> Result<String> {
    let begin = "\n# Made: the losses of the registry.\n";
    let (before, _) = stubs.split_once(begin).ok_or(format!("no {begin}"))?;
    let mut text = format!("{before}{begin}");
    for entry in LOSSES {
        let mut own = String::new();
        let parameters: BTreeMap<String, Value> = entry.parameters().into_iter().collect();
        for (name, value) in &parameters {
            writeln!(own, "    {name}: {} = {},", type_of(value), in_python(value))?;
        }
        if entry.is_joined() {
            own += "    **parameters: Any,\n";
        }
        write!(
            text,
            "\ndef {}(\n    scores: Tensor,\n    labels: Tensor,\n    mask: Tensor | None = None,\n    *,\n    \
             lengths: Sequence[int] | Tensor | None = None,\n    reduction: Reduction = \"mean\",\n    \
             draw: int | Tensor | None = None,\n{own}) -> Tensor:\n    {}\n",
            entry.name,
            serde_json::to_string(entry.summary)?
        )?;
    }
    Ok(text)
}

/// The Python type of a parameter. Texts stand for tables too, as a gain does; what is not set may be of any type.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        _ => "Any",
    }
}

/// A value in the notation of Python.
fn in_python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}
