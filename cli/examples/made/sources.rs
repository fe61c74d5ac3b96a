//! The documentation of fields and variants in the sources, by its first sentences.

use std::fs;
use std::path::Path;

use crate::Result;

/// The most words of a cell.
const MOST_WORDS: usize = 25;

/// Ranges at the end of a sentence, which have a column.
const RANGES: [&str; 15] = [
    ", 0 or above",
    ", 1 or more",
    ", at least 0 and below 1",
    ", at least 1",
    ", at least 2",
    ", above 0 and at most 1",
    ", above 0",
    ", from 2 to 256",
    ", from 1 to 10,000",
    "; must be above 0",
    "; must be 0 or above",
    ". Must be above 0",
    ". Must be at least 0",
    ". Must be at least 1",
    ". The number must be above 0",
];

/// Returns the first sentences of the documentation of `name` in the struct or enum `owner`, as many as fit a cell.
/// `name` is a field, a variant, or a field of a variant as in `Adam.beta_1`, in any case.
pub fn about(source: &str, owner: &str, name: &str) -> Result<String> {
    let words = cell(&documentation(source, owner, name)?);
    words.ok_or_else(|| format!("{source}: the first sentence about {owner} {name} is too long").into())
}

/// Returns what the documentation of a field says about a default that is not in the type, after `The default is`.
pub fn about_default(source: &str, owner: &str, name: &str) -> Result<Option<String>> {
    let text = readable(&documentation(source, owner, name)?);
    let said = text.split_once("The default is ").map(|(_, rest)| rest.split(". ").next().unwrap_or_default());
    Ok(said.map(|said| said.trim_end_matches('.').to_owned()))
}

fn documentation(source: &str, owner: &str, name: &str) -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package has no repository")?;
    let text = fs::read_to_string(root.join(source)).map_err(|error| format!("{source}: {error}"))?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let missing = || format!("{source}: nothing about {owner} {name}");
    // A macro that makes an enum has its name on a separate line.
    let by_macro = || lines.iter().position(|line| line.split(' ').next() == Some(owner));
    let mut at = lines.iter().position(|line| is_type(line, owner)).or_else(by_macro).ok_or_else(missing)?;
    for part in name.split('.') {
        at += 1 + lines[at + 1..].iter().position(|line| is_item(line, part)).ok_or_else(missing)?;
    }
    Ok(above(&lines[..at]))
}

/// Whether a line begins a struct or an enum.
fn is_type(line: &str, owner: &str) -> bool {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    ["struct", "enum"].iter().any(|word| words.contains(word)) && words.contains(&owner)
}

/// Whether a line begins a field or a variant of this name.
fn is_item(line: &str, name: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let line = line.trim_start_matches("pub ");
    if line.starts_with("#[serde(rename = ") {
        return line.contains(&format!("\"{name}\""));
    }
    let end = line.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(line.len());
    let follows = line[end..].trim_start();
    let is_named = plain(&line[..end]) == plain(name) && end > 0;
    is_named && (follows.is_empty() || follows.starts_with([':', ',', '{', '(', '=']))
}

/// Returns the documentation above a line, its first paragraph.
fn above(lines: &[&str]) -> String {
    let own = lines.iter().rev().skip_while(|line| line.starts_with("#[") || line.starts_with("// "));
    let mut words: Vec<&str> = own.map_while(|line| line.strip_prefix("///")).collect();
    words.reverse();
    words
        .split(|line| line.trim().is_empty())
        .next()
        .unwrap_or(&[])
        .iter()
        .map(|line| line.trim())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the sentences that fit a cell of a table, in Markdown; `None` if the first does not.
fn cell(text: &str) -> Option<String> {
    let text = readable(text);
    let (mut kept, mut words) = (Vec::new(), 0);
    for sentence in text.trim_end_matches('.').split(". ") {
        words += sentence.split_whitespace().count();
        if words > MOST_WORDS || ["Default:", "The default", "See "].iter().any(|start| sentence.starts_with(start)) {
            break;
        }
        kept.push(sentence);
    }
    let kept = kept.join(". ");
    let kept = RANGES.iter().find_map(|range| kept.strip_suffix(range)).unwrap_or(&kept);
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// Returns documentation as a page shows it: without links and bars, and with the values of configuration files in
/// place of variants.
fn readable(text: &str) -> String {
    let text = without_bars(&without_places(&without_links(text)));
    let spans = text
        .split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 1 { format!("`{}`", value(part)) } else { part.into() });
    spans.collect()
}

/// Returns the value in a configuration for a variant, such as `"line_search"` for `Steps::LineSearch`.
fn value(code: &str) -> String {
    let name = code.rsplit("::").next().unwrap_or(code);
    let is_variant = name.len() > 1
        && name.chars().all(char::is_alphanumeric)
        && name.starts_with(char::is_uppercase)
        && name.chars().nth(1).is_some_and(char::is_lowercase);
    if name == "None" {
        return "none".into();
    }
    if !is_variant {
        return code.into();
    }
    let mut value = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_uppercase() && at > 0 {
            value.push('_');
        }
        value.extend(c.to_lowercase());
    }
    format!("\"{value}\"")
}

/// Returns the text without links to items, ``[`Name`]`` or ``[`Name`](path)``.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        plain += &format!("`{name}`{rest}");
    }
    plain
}

/// Returns the text without places in papers, as in `(smoothrank, section 4)`.
fn without_places(text: &str) -> String {
    let mut plain = text.to_owned();
    while let Some((before, (inside, after))) =
        plain.rsplit_once(" (").and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        && ["section", "equation"].iter().any(|place| inside.contains(place))
    {
        plain = format!("{before}{after}");
    }
    plain
}

/// Returns the text with `abs(x)` in place of `|x|`, and `norm(x)` of `||x||`, since a bar ends a cell.
fn without_bars(text: &str) -> String {
    let called = |text: &str, bar: &str, function: &str| {
        let mut plain = String::new();
        for (at, part) in text.split(bar).enumerate() {
            match at {
                0 => {}
                at if at % 2 == 1 => plain += &format!("{function}("),
                _ => plain.push(')'),
            }
            plain += part;
        }
        plain
    };
    called(&called(text, "||", "norm"), "|", "abs")
}
