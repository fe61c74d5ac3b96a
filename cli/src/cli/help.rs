//! `burn-rank help` prints the help of a command, or the keys of configuration files. The keys come from the pages in
//! `docs/reference/configuration`.

use std::io::Write;

use burn_rank::workbench::text::{did_you_mean, nearest};
use burn_rank::workbench::{CONFIGURATION, names_here};
use clap::{Args, Command};

use super::{Failure, manual};
use crate::page::{indented, wrapped};

const ABOUT_CONFIG: &str = "\
Configuration files:
  help config           the sections, and the keys outside any section
  help config learner   a section
  help config epochs    a key, wherever it is";

/// Arguments of `help`.
#[derive(Debug, Args)]
#[command(after_help = ABOUT_CONFIG)]
pub struct HelpArgs {
    /// A command, such as `train` or `models show`; or `config` with a section or a key of configuration files
    #[arg(value_name = "COMMAND")]
    what: Vec<String>,
}

impl HelpArgs {
    /// Prints help; `root` is the whole command line.
    pub(super) fn run(self, root: Command, out: &mut dyn Write) -> Result<(), Failure> {
        match self.what.split_first() {
            Some((config, of)) if config == "config" => config_help(of, out),
            _ => {
                manual::find("help", &root, &self.what)?;
                let name = root.get_name().to_string();
                let arguments = [name].into_iter().chain(self.what).chain(["--help".to_string()]);
                if let Err(help) = root.try_get_matches_from(arguments) {
                    write!(out, "{}", help.render())?;
                }
                Ok(())
            }
        }
    }
}

/// A part of the pages with a heading.
struct Section {
    /// The heading without its marks, such as `data.read` or `gradient`.
    name: String,
    /// What precedes a key of this section where it is written in one line, such as `learner.`.
    prefix: String,
    /// The first paragraph.
    about: String,
    tables: Vec<Table>,
}

impl Section {
    fn title(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match self.prefix.trim_end_matches('.') {
            "" => writeln!(out, "{}", self.name),
            above if self.name == above => writeln!(out, "[{above}]"),
            above => writeln!(out, "{}: keys of [{above}]", self.name),
        }
    }
}

/// A table of a page.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns the column with this title.
    fn column(&self, title: &str) -> Option<usize> {
        self.header.iter().position(|name| name == title)
    }

    /// Returns the keys of a row, and nothing if the table lists other things.
    fn keys<'a>(&self, row: &'a [String]) -> impl Iterator<Item = &'a str> {
        let cell = self.column("key").and_then(|at| row.get(at));
        cell.into_iter().flat_map(|cell| cell.split(", "))
    }
}

/// Reads the pages.
fn sections() -> Vec<Section> {
    let (mut sections, mut above) = (Vec::<Section>::new(), String::new());
    let lines = CONFIGURATION.iter().flat_map(|page| page.lines());
    let (mut in_block, mut begins) = (false, false);
    for line in lines {
        in_block ^= line.starts_with("```");
        if in_block {
            continue;
        }
        if let Some((marks, heading)) =
            line.split_once(' ').filter(|(marks, _)| marks.trim_matches('#').is_empty() && !marks.is_empty())
        {
            let name = plain(heading).trim_matches(['[', ']']).to_lowercase();
            let prefix = match marks.len() {
                _ if name == "conventions" => "measure.convention.".to_string(),
                _ if name == "top level" => String::new(),
                _ if name.contains('.') => format!("{name}."),
                2 => format!("{name}."),
                4 => format!("{above}{name}."),
                _ => above.clone(),
            };
            if marks.len() == 2 {
                above.clone_from(&prefix);
            }
            sections.push(Section { name, prefix, about: String::new(), tables: Vec::new() });
            begins = true;
        } else if let (Some(section), Some(cells)) = (sections.last_mut(), cells(line)) {
            match section.tables.last_mut().filter(|_| !begins) {
                Some(table) => table.rows.extend(Some(cells).filter(|cells| !cells[0].starts_with("---"))),
                None => section.tables.push(Table { header: cells, rows: Vec::new() }),
            }
            begins = false;
        } else if let Some(section) = sections.last_mut() {
            begins = true;
            if section.tables.is_empty() && !section.about.ends_with('\n') {
                section.about += &format!("{} ", plain(line));
            }
            if line.is_empty() && !section.about.trim().is_empty() {
                section.about = format!("{}\n", section.about.trim());
            }
        }
    }
    sections
}

/// Returns the cells of a line of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| plain(cell.trim())).collect())
}

/// Returns Markdown without marks of code and without the addresses of links.
fn plain(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("](") {
        let (start, name) = before.rsplit_once('[').unwrap_or(("", before));
        plain += &format!("{start}{name}");
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    (plain + rest).replace('`', "")
}

/// Prints the sections of configuration files, one section, or a key in all sections that have it.
fn config_help(of: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    let sections = sections();
    let asked = of.join(".").trim_matches(['[', ']']).to_lowercase();
    if asked.is_empty() {
        return overview(&sections, out);
    }
    let is_asked = |section: &&Section| {
        section.name == asked
            || section.prefix.trim_end_matches('.') == asked
            || format!("{}{}", section.prefix, section.name) == asked
    };
    if let Some(section) = sections.iter().find(is_asked) {
        section.title(out)?;
        for line in wrapped(section.about.trim(), WIDTH).iter().filter(|line| !line.is_empty()) {
            writeln!(out, "{line}")?;
        }
        return Ok(print(&section.tables, out)?);
    }
    let mut found = false;
    for section in &sections {
        let has = |table: &Table, row: &[String]| {
            table.keys(row).any(|key| key == asked || format!("{}{key}", section.prefix) == asked)
        };
        let tables = section.tables.iter().map(|table| {
            let rows = table.rows.iter().filter(|row| has(table, row)).cloned().collect();
            Table { header: table.header.clone(), rows }
        });
        let tables: Vec<Table> = tables.filter(|table| !table.rows.is_empty()).collect();
        if !tables.is_empty() {
            found = true;
            section.title(out)?;
            print(&tables, out)?;
        }
    }
    if found {
        return Ok(());
    }
    let keys = sections.iter().flat_map(keys_of).map(|(_, key)| key);
    let known: Vec<&str> = sections.iter().map(|section| section.name.as_str()).chain(keys).collect();
    let near = did_you_mean(&nearest(&asked, known));
    Err(Failure::input(format!(
        "help config: found `{asked}`, expected a section or a key, or nothing for a list{near}"
    )))
}

/// Returns the keys of a section, each with what precedes it.
fn keys_of(section: &Section) -> impl Iterator<Item = (&str, &str)> {
    let rows = section.tables.iter().flat_map(|table| table.rows.iter().flat_map(move |row| table.keys(row)));
    rows.map(|key| (section.prefix.as_str(), key))
}

/// Returns the dotted key of a configuration that a name on the command line means, such as `learner.epochs` for
/// `epochs`, or for a name of another tool.
pub(super) fn dotted_key(name: &str) -> Option<String> {
    let name = name.replace('-', "_");
    let sections = sections();
    let find = |name: &str| {
        let (prefix, key) = sections.iter().flat_map(keys_of).find(|(_, key)| *key == name)?;
        Some(format!("{prefix}{key}"))
    };
    find(&name).or_else(|| names_here(&name).find_map(find))
}

fn overview(sections: &[Section], out: &mut dyn Write) -> Result<(), Failure> {
    for section in sections.iter().filter(|section| section.name == "top level") {
        section.title(out)?;
        print(&section.tables[..1], out)?;
    }
    let with_keys = sections.iter().filter(|section| keys_of(section).next().is_some() && section.name != "top level");
    let names: Vec<&str> = with_keys.map(|section| section.name.as_str()).collect();
    let names = names.join(", ");
    for line in
        wrapped(&format!("burn-rank help config SECTION prints one of: {names}. SECTION may also be a key."), WIDTH)
    {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The width of the text and of the column of names, in characters.
const WIDTH: usize = 80;
const NAMES: usize = 20;

/// Prints tables. A row becomes its name and one paragraph, which the columns `range` and `default` end.
fn print(tables: &[Table], out: &mut dyn Write) -> std::io::Result<()> {
    for table in tables {
        writeln!(out)?;
        let first = table.column("key").unwrap_or(0);
        for row in &table.rows {
            let cell = |(at, text): (usize, &String)| {
                let title = table.header.get(at).map_or("", String::as_str);
                let text = text.trim_end_matches('.');
                match title {
                    _ if at == first || text.is_empty() => None,
                    "meaning" | "what" | "range" | "what is tried" | "value of a feature" => Some(text.to_string()),
                    "default" if text == "required" => Some("required".to_string()),
                    title => Some(format!("{title}: {text}")),
                }
            };
            let words: Vec<String> = row.iter().enumerate().filter_map(cell).collect();
            let words = indented(&words.join(". "), NAMES + 2);
            match row[first].chars().count() <= NAMES {
                true => writeln!(out, "{:NAMES$}  {words}", row[first])?,
                false => writeln!(out, "{}\n{:NAMES$}  {words}", row[first], "")?,
            }
        }
    }
    writeln!(out)
}
