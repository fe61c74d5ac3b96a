//! Writes what follows from the registries: tables of the pages and of the documentation, and the type stubs of the
//! Python package.
//!
//! ```text
//! cargo run --example made               writes them
//! cargo run --example made -- --check    fails if one of them is not what the registries say
//! ```
//!
//! A table stands between two lines of comment, `<!-- made: NAME -->` and `<!-- end of NAME -->`. In the stubs,
//! everything after `# Made:` is made. The pages of keys are made whole.

mod keys;
mod sources;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use burn_rank::json::Value;
use burn_rank::loss::{MeasureName, RelaxationName};
use burn_rank::workbench::Cell;
use burn_rank::workbench::ranker::{EXPORTS, IMPORTS};
use burn_rank::workbench::registry::{LEARNERS, LOSSES};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A file with what is made in it: its path, and the function that makes its text anew.
type Made = (&'static str, fn(&str) -> Result<String>);

fn main() -> Result<()> {
    let check = std::env::args().any(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has no repository")?;
    let made: [Made; 8] = [
        ("src/loss/mod.rs", |page| with_table(page, "losses", "//! ", &losses())),
        ("benchmarks/losses.md", |page| with_table(page, "cells", "", &cells())),
        ("docs/how-to/export.md", |page| with_table(page, "exports", "", &exports())),
        ("docs/how-to/import.md", |page| with_table(page, "imports", "", &imports())),
        ("docs/reference/configuration/learners.md", |page| with_table(page, "learners", "", &learners())),
        ("docs/reference/configuration/learner_keys.md", |_| keys::learners()),
        ("docs/reference/configuration/loss_keys.md", |_| keys::losses()),
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
    let table = lines(rows, margin)?;
    let empty = margin.trim_end();
    Ok(format!("{before}{begin}{table}{empty}\n{end}{after}"))
}

/// Returns the lines of a table.
fn table(rows: &Rows) -> Result<String> {
    lines(rows, "")
}

fn lines(rows: &Rows, margin: &str) -> Result<String> {
    let mut table = String::new();
    for (number, row) in rows.iter().enumerate() {
        writeln!(table, "{margin}| {} |", row.join(" | "))?;
        if number == 0 {
            writeln!(table, "{margin}|{}", "---|".repeat(row.len()))?;
        }
    }
    Ok(table)
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
