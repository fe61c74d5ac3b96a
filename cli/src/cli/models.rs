//! `burn-rank models` lists losses, learners and measures, and describes a saved ranker.

use burn_rank::loss::{MeasureName, RelaxationName};
use burn_rank::workbench::registry::{LEARNERS, LOSSES};
use burn_rank::workbench::{Cell, CellCost, FAMILIES};

use super::*;
use crate::experiment::linear_weights;

/// Advice, for each type of learner, on the first loss to try.
const START: &str = include_str!("texts/losses_to_start_with.txt").trim_ascii_end();

/// Arguments of `models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    command: Option<ModelsCommand>,
    /// List losses with their names, formulas, parameters, costs and sources
    #[arg(long)]
    losses: bool,
    /// List learners with their names, parameters and sources
    #[arg(long)]
    learners: bool,
    /// Measures and conventions
    #[arg(long)]
    measures: bool,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Show a saved ranker: its learner, its loss, its training data, and its test results
    Show {
        /// The ranker
        ranker: PathBuf,
        /// Number of features shown for a linear ranker, largest weights first
        #[arg(long, default_value_t = 20)]
        features: usize,
    },
}

impl ModelsArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        if let Some(ModelsCommand::Show { ranker, features }) = &self.command {
            return self.show(ranker, *features, out);
        }
        let all = !(self.losses || self.learners || self.measures);
        if self.learners || all {
            self.learners(out)?;
        }
        if self.losses || all {
            self.losses(out)?;
        }
        if self.measures || all {
            self.measures(out)?;
        }
        Ok(())
    }

    fn learners(&self, out: &mut dyn Write) -> Result {
        for entry in LEARNERS {
            let defaults = entry.parameters();
            if self.json {
                let row = json!({"learner": entry.name, "summary": entry.summary, "paper": entry.paper,
                    "loss": entry.takes_loss, "scorer": entry.takes_scorer, "parameters": defaults});
                writeln!(out, "{row}")?;
                continue;
            }
            writeln!(out, "{}", indented(&format!("learner {}: {}", entry.name, entry.summary), 2))?;
            let sections = [(entry.takes_loss, "[loss]"), (entry.takes_scorer, "[scorer]")];
            let sections: Vec<&str> = sections.iter().filter(|(takes, _)| *takes).map(|(_, name)| *name).collect();
            if !sections.is_empty() {
                writeln!(out, "  reads       {}", sections.join(" "))?;
            }
            parameters(&defaults, out)?;
            writeln!(out, "  source      {}\n", indented(entry.paper, WORDS))?;
        }
        Ok(())
    }

    fn losses(&self, out: &mut dyn Write) -> Result {
        if !self.json {
            write!(out, "{START}\n\n")?;
        }
        for entry in LOSSES {
            let defaults = entry.parameters();
            if self.json {
                let mut row = json!({"loss": entry.name, "summary": entry.summary, "formula": entry.formula,
                    "cost": entry.cost, "paper": entry.paper, "parameters": defaults});
                if entry.is_joined() {
                    row["cells"] = Cell::all().map(cell_value).collect();
                }
                writeln!(out, "{row}")?;
                continue;
            }
            writeln!(out, "{}", indented(&format!("loss {}: {}", entry.name, entry.summary), 2))?;
            writeln!(out, "  formula     {}", indented(entry.formula, WORDS))?;
            parameters(&defaults, out)?;
            writeln!(out, "  cost        {}", indented(entry.cost, WORDS))?;
            writeln!(out, "  source      {}\n", indented(entry.paper, WORDS))?;
        }
        if !self.json {
            write!(out, "{}", cells())?;
        }
        Ok(())
    }

    fn measures(&self, out: &mut dyn Write) -> Result {
        if self.json {
            for family in FAMILIES {
                let row = json!({"measure": family.form(), "aliases": family.aliases, "what": family.description});
                writeln!(out, "{row}")?;
            }
            for preset in Convention::PRESETS {
                writeln!(out, "{}", json!({"convention": preset.name, "what": preset.description}))?;
            }
            return Ok(());
        }
        let families = FAMILIES.iter().map(|family| (family.form(), family.description));
        let presets = Convention::PRESETS.iter().map(|preset| (preset.name.to_string(), preset.description));
        Ok(write!(out, "{}\n{}", described("measure", families), described("convention", presets))?)
    }

    fn show(&self, path: &std::path::Path, shown: usize, out: &mut dyn Write) -> Result {
        let ranker = input::ranker(path, &Device::flex())?;
        let weights = linear_weights(&ranker);
        if self.json {
            let record = json!({
                "metadata": ranker.metadata(), "features": ranker.features(), "weights": weights,
                "indicated": ranker.normalizer().indicated(), "dropped_columns": ranker.columns().drop,
            });
            return Ok(writeln!(out, "{record}")?);
        }
        let stem = path.file_stem().filter(|_| !path.is_dir()).map(|stem| stem.to_string_lossy().into_owned());
        let name = stem.unwrap_or_else(|| files::last_name(path));
        write!(out, "{}", ranker.card(&name))?;
        if let Some(weights) = weights {
            let mut order: Vec<usize> = (0..weights.len()).collect();
            order.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()));
            let names = ranker.column_names();
            let row = |&feature: &usize| (names[feature].as_str(), [format!("{:+.6}", weights[feature])]);
            let table = Table::new("feature", ["weight"]).with(order.iter().take(shown).map(row));
            write!(out, "\n{}", table.text())?;
        }
        Ok(())
    }
}

/// Lists names next to their descriptions, which are wrapped to a terminal. The first line is a title.
fn described<'a>(title: &str, rows: impl Iterator<Item = (String, &'a str)>) -> String {
    let rows: Vec<(String, &str)> = std::iter::once((title.to_string(), "what")).chain(rows).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    rows.iter().map(|(name, what)| format!("{name:<width$}{}\n", indented(what, width))).collect()
}

/// The width of the words before a formula, a cost or a source.
const WORDS: usize = 14;

fn cell_value(cell: Cell) -> Value {
    json!({"measure": cell.measure.name(), "relaxation": cell.relaxation.name(), "cost": cell.cost().to_string(),
        "loss": cell.named()})
}

/// Formats tables that show what each combination of a measure and a relaxation costs.
fn cells() -> String {
    let part = |relaxations: &[RelaxationName]| {
        // The two words of a name are printed one above the other.
        let words = |word: usize| {
            relaxations.iter().map(move |relaxation| relaxation.name().split('_').nth(word).unwrap_or_default())
        };
        let mut table = Table::new("", words(0));
        table.row("measure", words(1));
        let rows = MeasureName::ALL.iter().map(|&measure| {
            let mark = move |&relaxation: &RelaxationName| {
                let cell = Cell { measure, relaxation };
                format!("{}{}", cell.cost().mark(), if cell.named().is_some() { "*" } else { "" })
            };
            (measure.name(), relaxations.iter().map(mark))
        });
        table.with(rows).words()
    };
    // All relaxations next to each other would be wider than a terminal.
    let tables: Vec<String> = RelaxationName::ALL.chunks(4).map(part).collect();
    let legend = CellCost::ALL.map(|cost| format!("{}  {cost}\n", cost.mark()));
    let title = "Any measure through any relaxation, by a name such as ap:rank_indicators:";
    let (tables, legend) = (tables.join("\n"), legend.concat());
    format!("{title}\n\n{tables}\n{legend}*  also has its own name, listed above\n\n")
}

/// Prints default parameters as TOML lines.
fn parameters(defaults: &Map, out: &mut dyn Write) -> Result {
    let mut title = "parameters";
    for (key, value) in defaults {
        let line = toml_value(value).map_or_else(|| format!("# {key}: not set"), |value| format!("{key} = {value}"));
        writeln!(out, "  {title:<10}  {line}")?;
        title = "";
    }
    Ok(())
}

/// Formats a value on one line; returns `None` for a value that is not set.
fn toml_value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Object(table) => {
            let entries = table.iter().filter_map(|(key, value)| Some(format!("{key} = {}", toml_value(value)?)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().filter_map(toml_value).collect::<Vec<_>>().join(", ")),
        // Numbers, strings and Booleans are the same in TOML and JSON.
        plain => plain.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_cells_fits_a_terminal() {
        let text = cells();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let row = |name: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
            line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().skip(1).collect()
        };
        assert_eq!(row("ap"), ["o*", "o*", "o*", "o*"]);
        assert_eq!(row("kendall_tau"), ["o*", "o", "c", "p"]);
        assert_eq!(row("success"), ["o", "o", "o", "t"]);
        assert_eq!(cell_value(Cell::all().next().unwrap())["loss"], json!("approx_ndcg"));
    }

    #[test]
    fn descriptions_are_wrapped_next_to_their_names() {
        let text = described("measure", [("ndcg[@k]".to_string(), ["word"; 20].join(" ").as_str())].into_iter());
        let expected =
            format!("measure   what\nndcg[@k]  {}\n{:10}{}\n", ["word"; 14].join(" "), "", ["word"; 6].join(" "));
        assert_eq!(text, expected);
    }

    #[test]
    fn defaults_are_valid_toml() {
        let learners = LEARNERS.iter().map(|entry| (entry.name, entry.parameters()));
        let losses = LOSSES.iter().map(|entry| (entry.name, entry.parameters()));
        for (name, defaults) in learners.chain(losses) {
            let mut text = Vec::new();
            parameters(&defaults, &mut text).unwrap();
            let lines = String::from_utf8(text).unwrap();
            let lines: Vec<&str> = lines.lines().map(|line| &line["  parameters  ".len()..]).collect();
            let read: toml::Table = toml::from_str(&lines.join("\n")).unwrap_or_else(|error| panic!("{name}: {error}"));
            let set = defaults.values().filter(|value| !value.is_null()).count();
            assert_eq!((read.len(), lines.len()), (set, defaults.len()), "{name}");
        }
        let gradient = json!({"kind": "adam", "beta_1": 0.9, "absent": null, "hidden": [1, 2]});
        assert_eq!(toml_value(&gradient).unwrap(), "{ kind = \"adam\", beta_1 = 0.9, hidden = [1, 2] }");
    }
}
