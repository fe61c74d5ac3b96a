//! `burn-rank help` prints the help of a command, or the keys of configuration files. The keys come from the pages in
//! `docs/reference/configuration`.

use burn_rank::workbench::{CONFIGURATION, names_here};
use clap::Command;

use super::*;
use crate::page::wrapped;

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
    pub(super) fn run(self, root: Command, out: &mut dyn Write) -> Result {
        if self.what.first().is_some_and(|first| first == "config") {
            return config_help(&self.what[1..], out);
        }
        manual::find("help", &root, &self.what)?;
        let name = root.get_name().to_string();
        let arguments = [name].into_iter().chain(self.what).chain(["--help".to_string()]);
        if let Err(help) = root.try_get_matches_from(arguments) {
            write!(out, "{}", help.render())?;
        }
        Ok(())
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
    rows: Vec<Row>,
}

/// A row of a table.
struct Row {
    /// The number of the table, from 1.
    table: usize,
    /// The first cell, or the cell of the column `key`.
    name: String,
    /// Whether the name is a key, or several keys separated by commas.
    is_key: bool,
    /// The other cells as one paragraph, which the columns `range` and `default` end.
    words: String,
}

impl Section {
    fn title(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match self.prefix.trim_end_matches('.') {
            "" => writeln!(out, "{}", self.name),
            above if self.name == above => writeln!(out, "[{above}]"),
            above => writeln!(out, "{}: keys of [{above}]", self.name),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flat_map(Row::keys)
    }
}

impl Row {
    fn new(table: usize, header: &[String], cells: &[String]) -> Self {
        let key = header.iter().position(|title| title == "key");
        let first = key.unwrap_or(0);
        let cell = |(at, (title, text)): (usize, (&String, &String))| {
            let text = text.trim_end_matches('.');
            match title.as_str() {
                _ if at == first || text.is_empty() => None,
                "meaning" | "what" | "range" | "what is tried" | "value of a feature" => Some(text.to_string()),
                "default" if text == "required" => Some("required".to_string()),
                title => Some(format!("{title}: {text}")),
            }
        };
        let words: Vec<String> = header.iter().zip(cells).enumerate().filter_map(cell).collect();
        Self { table, name: cells[first].clone(), is_key: key.is_some(), words: words.join(". ") }
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.name.split(", ").filter(|_| self.is_key)
    }
}

/// Reads the pages. A heading that two pages have is one section: one page has its words, the other its keys.
fn sections() -> Vec<Section> {
    let (mut sections, mut above, mut current) = (Vec::<Section>::new(), String::new(), 0);
    let (mut header, mut table, mut in_block, mut begins) = (Vec::new(), 0, false, false);
    for line in CONFIGURATION.iter().flat_map(|page| page.lines()) {
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
            let known = sections.iter().position(|section| section.name == name && section.prefix == prefix);
            current = known.unwrap_or_else(|| {
                sections.push(Section { name, prefix, about: String::new(), rows: Vec::new() });
                sections.len() - 1
            });
            begins = true;
        } else if let (Some(section), Some(cells)) = (sections.get_mut(current), cells(line)) {
            if begins {
                (header, table) = (cells, table + 1);
            } else if !cells[0].starts_with("---") {
                section.rows.push(Row::new(table, &header, &cells));
            }
            begins = false;
        } else if let Some(section) = sections.get_mut(current) {
            begins = true;
            if section.rows.is_empty() && !section.about.ends_with('\n') {
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
fn config_help(of: &[String], out: &mut dyn Write) -> Result {
    let sections = sections();
    let asked = of.join(".").trim_matches(['[', ']']).to_lowercase();
    if asked.is_empty() {
        return Ok(overview(&sections, out)?);
    }
    let is_asked = |section: &&Section| {
        section.name == asked
            || section.prefix.trim_end_matches('.') == asked
            || format!("{}{}", section.prefix, section.name) == asked
    };
    if let Some(section) = sections.iter().find(is_asked) {
        section.title(out)?;
        for line in wrapped(section.about.trim(), COLUMNS).iter().filter(|line| !line.is_empty()) {
            writeln!(out, "{line}")?;
        }
        return Ok(print(&section.rows, out)?);
    }
    let mut found = false;
    for section in &sections {
        let is_asked = |key: &str| key == asked || format!("{}{key}", section.prefix) == asked;
        let rows: Vec<&Row> = section.rows.iter().filter(|row| row.keys().any(is_asked)).collect();
        if !rows.is_empty() {
            found = true;
            section.title(out)?;
            print(rows, out)?;
        }
    }
    if found {
        return Ok(());
    }
    let names = sections.iter().map(|section| section.name.as_str());
    let near = did_you_mean(&nearest(&asked, names.chain(sections.iter().flat_map(Section::keys))));
    bail!("help config: found `{asked}`, expected a section or a key, or nothing for a list{near}")
}

/// Returns the dotted key of a configuration that a name on the command line means, such as `learner.epochs` for
/// `epochs`, or for a name of another tool.
pub(super) fn dotted_key(name: &str) -> Option<String> {
    let name = name.replace('-', "_");
    let sections = sections();
    let find = |name: &str| {
        let section = sections.iter().find(|section| section.keys().any(|key| key == name))?;
        Some(format!("{}{name}", section.prefix))
    };
    find(&name).or_else(|| names_here(&name).find_map(find))
}

fn overview(sections: &[Section], out: &mut dyn Write) -> std::io::Result<()> {
    for section in sections.iter().filter(|section| section.name == "top level") {
        section.title(out)?;
        print(section.rows.iter().take_while(|row| row.table == section.rows[0].table), out)?;
    }
    let with_keys = sections.iter().filter(|section| section.keys().next().is_some() && section.name != "top level");
    let names = with_keys.map(|section| section.name.as_str()).collect::<Vec<_>>().join(", ");
    let words = format!("burn-rank help config SECTION prints one of: {names}. SECTION may also be a key.");
    write!(out, "{}", paragraph(&words))
}

/// The width of the column of names, in characters.
const NAMES: usize = 20;

/// Prints rows, with an empty line before each table.
fn print<'a>(rows: impl IntoIterator<Item = &'a Row>, out: &mut dyn Write) -> std::io::Result<()> {
    let mut last = 0;
    for Row { table, name, words, .. } in rows {
        if *table != last {
            writeln!(out)?;
            last = *table;
        }
        let words = indented(words, NAMES + 2);
        match name.chars().count() <= NAMES {
            true => writeln!(out, "{name:NAMES$}  {words}")?,
            false => writeln!(out, "{name}\n{:NAMES$}  {words}", "")?,
        }
    }
    writeln!(out)
}
