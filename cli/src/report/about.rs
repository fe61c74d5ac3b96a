//! The parts that every page has: title, conclusion, key figures, configuration and provenance.

use burn_rank::json::Value;
use burn_rank::measure::Convention;
use burn_rank::workbench::ranker::Versions;
use burn_rank::workbench::registry::LEARNERS;
use burn_rank::workbench::text::escape_markup;

use crate::experiment::{Measures, RunRecord, without_nulls};
use crate::number;
use crate::page::{Cell, Html, Table, element, note, section, with_error};

pub(super) const STYLE: &str = include_str!("style.css");

/// Builds a page: the title, the conclusion, the description and the key figures, then the sections. The HTML of the
/// page has a style sheet and loads nothing.
pub(super) fn page(
    command: &str,
    name: &str,
    conclusion: Html,
    description: &str,
    facts: impl IntoIterator<Item = Html>,
    sections: impl IntoIterator<Item = Html>,
) -> String {
    let facts = facts.into_iter().collect::<Html>().within("dl", &[("class", "facts")]);
    let eyebrow = Html::text(format!("burn-rank {command}")).within("p", &[("class", "eyebrow")]);
    let description = if description.is_empty() { Html::default() } else { element("p", description) };
    let top = eyebrow.then(element("h1", name)).then(conclusion).then(description).then(facts);
    let body = element("header", top).then(element("main", sections.into_iter().collect::<Html>()));
    let title = escape_markup(&format!("{name} \u{b7} burn-rank {command}"));
    // The policy keeps a browser from loading anything, and the empty icon keeps it from asking for one.
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
         <meta name=\"color-scheme\" content=\"light dark\" />\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; \
         style-src &#39;unsafe-inline&#39;; img-src data:\" />\n\
         <link rel=\"icon\" href=\"data:,\" />\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{body}\n</body>\n</html>\n"
    )
}

/// Builds a key figure for the top of a page.
pub(super) fn fact(name: impl Into<Html>, value: impl Into<Html>, note: impl Into<Html>) -> Html {
    let value = value.into().then(element("span", note));
    element("dt", name).then(element("dd", value)).within("div", &[])
}

/// Builds the key figure of a run's total time and its peak memory.
pub(super) fn cost(record: &RunRecord) -> Html {
    let memory = record.peak_memory_mib.map(|mib| format!(", {} at most", number::memory(mib))).unwrap_or_default();
    fact("time", number::seconds(record.total_seconds), format!("on {}{memory}", record.device))
}

/// Builds a conclusion. A conclusion that is not `clear` has the color of a warning.
pub(super) fn conclusion(words: &str, clear: bool) -> Html {
    Html::text(words).within("p", &[("class", if clear { "verdict clear" } else { "verdict open" })])
}

/// Puts a title above the content. Empty content gets no title.
pub(super) fn titled(title: &str, content: Html) -> Html {
    if content.is_empty() { content } else { element("p", element("strong", title)).then(content) }
}

/// Builds the cell of a measure with its standard error.
pub(super) fn named_measure(means: &Measures, errors: &Measures, name: &str) -> Cell {
    with_error(number::named(means, name), number::named(errors, name))
}

/// Formats a measure with its standard error for use in a sentence.
pub(super) fn in_a_sentence(means: &Measures, errors: &Measures, name: &str) -> String {
    number::measure(number::named(means, name)) + &number::plus_minus(number::named(errors, name))
}

/// Returns the description in a configuration, or an empty one.
pub(super) fn description(config: &Value) -> &str {
    config["description"].as_str().unwrap_or_default()
}

/// Returns a sentence that describes the convention.
pub(super) fn convention_in_words(convention: &Convention) -> Html {
    let preset = Convention::PRESETS.iter().find(|preset| preset.name == convention.name);
    let words = preset
        .map_or_else(|| serde_json::to_string(convention).unwrap_or_default(), |preset| preset.description.to_string());
    element("strong", format!("{} convention", convention.name)).then(Html::text(format!(": {words}.")))
}

/// Returns the name of a round in this learner's terms, `epoch` or `round`.
pub(super) fn round_word(config: &Value) -> &'static str {
    let (kind, of_epochs) = (config["learner"]["kind"].as_str(), config["learner"].get("epochs").is_some());
    let unknown = if of_epochs { "epoch" } else { "round" };
    LEARNERS.iter().find(|entry| kind == Some(entry.name)).map_or(unknown, |entry| entry.round_name)
}

/// Says how the values of features were normalized.
pub(super) fn normalized(normalizer: &str) -> String {
    match normalizer {
        "none" => "as they are in the data".to_string(),
        "each" => "as each fit normalized them".to_string(),
        normalizer => format!("normalized by {normalizer}"),
    }
}

/// Builds the section with the resolved configuration as TOML.
pub(super) fn configuration(config: &Value) -> Html {
    let text = toml::to_string(&without_nulls(config.clone())).unwrap_or_else(|_| format!("{config:#}"));
    let region = [("class", "scroll"), ("role", "region"), ("aria-label", "configuration"), ("tabindex", "0")];
    let defaults = match ["grid", "search"].iter().all(|key| config[*key].is_null()) {
        true => "with the defaults of learner and loss",
        false => "without the defaults that each point or trial completes",
    };
    let what = note(format!("The configuration {defaults}. On the CPU, the same configuration gives the same bytes."));
    section("configuration", "Configuration", what.then(Html::text(text).within("pre", &region)))
}

/// Builds the section with the versions, the seeds and the machine.
pub(super) fn provenance(
    versions: &Versions,
    seeds: &[u64],
    convention: &Convention,
    record: Option<&RunRecord>,
) -> Html {
    let mut table = Table::default();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    table.row("made with", [format!("burn-rank {}, burn {}", versions.burn_rank, versions.burn)]);
    // Text models have none.
    if versions.format > 0 {
        table.row("ranker file format", [versions.format.to_string()]);
    }
    table.row(if seeds.len() == 1 { "seed" } else { "seeds" }, [seeds.join(", ")]);
    table.row("convention", [convention.name.clone()]);
    if let Some(record) = record {
        table.row("device", [record.device.clone()]);
        let threads = number::counted(record.threads, "thread");
        let platform = if record.platform.is_empty() { threads } else { format!("{}, {threads}", record.platform) };
        table.row("machine", [platform]);
        if !record.instructions.is_empty() {
            table.row("instructions of the fused CPU kernels", [record.instructions.clone()]);
        }
        table.row("total time", [number::seconds(record.total_seconds)]);
        table.row("fitting time of the process that finished the run", [number::seconds(record.fit_seconds)]);
        table.row("peak memory", [record.peak_memory_mib.map_or("unknown here".into(), number::memory)]);
        table.row("finished", [number::date(record.finished)]);
    }
    let files = note(
        "report.json has the numbers of this page, and run.json those that depend on the machine. burn-rank report \
         FOLDER makes the page again from both.",
    );
    section("provenance", "How it was made", table.html("how the run was made").then(files))
}
