//! The pages of docs/reference/configuration list every key that a configuration file may have, with its default, and
//! their examples are valid. The expected list comes from the types: from their errors about a wrong key or value, and
//! from their defaults.

#[path = "../../../tests/common/same_value.rs"]
mod same_value;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use burn_rank::data::letor::{Missing, ReadOptions, Weights};
use burn_rank::data::{Columns, NormalizerKind};
use burn_rank::json::from_value;
use burn_rank::learner::gradient::{AnnealConfig, ClipConfig, OptimizerConfig, Precision, ScheduleConfig};
use burn_rank::learner::{LearnerError, Parts, PositionConfig, build};
use burn_rank::loss::{
    DiscountShape, LambdaLossWeights, LossSpec, MeasureName, RankExpectationMethod, RankModel, RelaxationName,
    TypeOneBound,
};
use burn_rank::measure::{Convention, Discount, EmptyQuery, Gain, Ties};
use burn_rank::op::{Instructions, Step};
use burn_rank::refusal::Refusal;
use burn_rank::scorer::{Activation, InputConfig, NormKind, ScorerConfig};
use burn_rank::workbench::registry::{LEARNERS, LOSSES};
use burn_rank::workbench::{
    Absent, AveragePrecisionDenominator, AveragePrecisionTies, Cell, FAMILIES, Groups, KendallTau, NegativeLabel,
    PrecisionDenominator, TemperatureUnit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use same_value::same_value;

use super::search::{RangeConfig, RangeScale};
use super::sections::MeasureConfig;
use super::{
    ConfigError, CrossValidationConfig, DataConfig, Document, Experiment, ExperimentConfig, SearchConfig, SplitConfig,
    SyntheticConfig,
};

type Names = BTreeSet<String>;

/// The header of a table of keys.
const KEYS: [&str; 4] = ["key", "meaning", "range", "default"];
/// The header of a table of the keys that belong to kinds.
const KEYS_OF_KINDS: [&str; 5] = ["kind", "key", "meaning", "range", "default"];
/// The header of a table of kinds, each with a line of TOML.
const KINDS: [&str; 3] = ["kind", "what", "example"];

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page() -> String {
    let folder = root().join("docs/reference/configuration");
    let mut pages: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages.iter().map(|page| fs::read_to_string(page).unwrap()).collect()
}

/// The text below a heading, subsections included.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("docs/reference/configuration has no `{heading}`"));
    let text = &page[start + 1 + heading.len()..];
    let level = heading.find(' ').unwrap();
    let ends = (1..=level).filter_map(|level| text.find(&format!("\n{} ", "#".repeat(level))));
    &text[..ends.min().unwrap_or(text.len())]
}

/// The rows of the first table with this header.
fn table<'a>(section: &'a str, header: &[&str]) -> Vec<Vec<&'a str>> {
    let cells = |line: &'a str| -> Option<Vec<&'a str>> {
        Some(line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect())
    };
    let mut lines = section.lines().map(cells).skip_while(|row| row.as_deref() != Some(header));
    assert!(lines.next().is_some(), "no table with the columns {header:?} in{section}");
    lines.skip(1).map_while(|row| row).collect()
}

/// Returns the texts between backticks.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The text of each block fenced as TOML.
fn blocks(page: &str) -> Vec<&str> {
    page.split("\n```toml\n").skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

/// The names that a type knows, where it refuses the value for one that it does not know.
fn expected<T: DeserializeOwned>(value: Value) -> Names {
    from_value::<T>(value).map_or_else(|refusal| known(&refusal), |_| Names::new())
}

/// The names that would have been known in place of the one that is refused.
fn known(refusal: &Refusal) -> Names {
    refusal.known_names().iter().cloned().collect()
}

/// The values of a key of a learner.
fn values_of(kind: &str, key: &str) -> Names {
    let table = json!({"kind": kind, key: "?"});
    match build(table.as_object().unwrap(), &Parts::default()) {
        Err(LearnerError::Refused(refusal)) => known(&refusal),
        _ => Names::new(),
    }
}

/// The values of an enum.
fn values<T: DeserializeOwned>() -> Names {
    expected::<T>(json!("?"))
}

/// The kinds of a table with a `kind`.
fn kinds<T: DeserializeOwned>() -> Names {
    expected::<T>(json!({"kind": "?"}))
}

/// The keys of a table.
fn keys<T: DeserializeOwned>() -> Names {
    expected::<T>(json!({"?": 0}))
}

/// The keys of a table of this kind.
fn keys_of_kind<T: DeserializeOwned>(kind: &str) -> Names {
    expected::<T>(json!({"kind": kind, "?": 0}))
}

/// The table with its defaults, and the keys that have none.
fn defaults<T: DeserializeOwned + Serialize>(mut table: Value) -> (Value, Names) {
    let mut required = Names::new();
    loop {
        match from_value::<T>(table.clone()) {
            Ok(value) => return (json!(value), required),
            Err(refusal) => {
                let Some(key) = refusal.missing_name() else { panic!("{refusal}") };
                assert!(required.insert(key.to_string()), "{refusal}");
                table[key] = json!(1);
            }
        }
    }
}

/// Whether the cell begins with this default; `none` for a key that is left out.
fn says(cell: &str, default: &Value) -> bool {
    match code(cell).first() {
        Some(&"none") => default.is_null(),
        Some(written) => toml::from_str::<toml::Table>(&format!("value = {written}"))
            .is_ok_and(|table| same_value(&json!(table["value"]), default)),
        // A cell without code describes a section, which is a table.
        None => default.is_object(),
    }
}

/// The section's table has these keys, no others, and the given defaults.
fn assert_keys(page: &str, heading: &str, keys: &Names, defaults: &Value) {
    let rows = table(section(page, heading), &KEYS);
    let listed: Names = rows.iter().map(|row| code(row[0])[0].to_string()).collect();
    assert_eq!(listed, *keys, "{heading}: the page (left), the sources (right)");
    for row in rows {
        let key = code(row[0])[0];
        if let Some(default) = defaults.get(key) {
            assert!(says(row[3], default), "{heading} {key}: the page says {}, the sources {default}", row[3]);
        }
    }
}

/// The section's tables have these kinds with all their keys, and no others.
fn assert_kinds<T: DeserializeOwned + Serialize>(page: &str, heading: &str) {
    let section = section(page, heading);
    let quoted = |kind: &String| format!("\"{kind}\"");
    let kinds = kinds::<T>();
    assert!(!kinds.is_empty());
    let listed: Names = table(section, &KINDS).iter().map(|row| code(row[0])[0].to_string()).collect();
    assert_eq!(listed, kinds.iter().map(quoted).collect::<Names>(), "{heading}");
    let rows = table(section, &KEYS_OF_KINDS);
    for kind in &kinds {
        let rows: Vec<_> = rows.iter().filter(|row| code(row[0]).contains(&quoted(kind).as_str())).collect();
        let listed: Vec<String> = rows.iter().map(|row| code(row[1])[0].to_string()).collect();
        assert_eq!(Names::from_iter(listed.clone()), keys_of_kind::<T>(kind), "{heading} {kind}");
        assert_eq!(Names::from_iter(listed.clone()).len(), listed.len(), "{heading} {kind}: a key is listed twice");
        let (defaults, required) = defaults::<T>(json!({"kind": kind}));
        for row in rows {
            let key = code(row[1])[0];
            let right = match required.contains(key) {
                true => row[4] == "required",
                false => says(row[4], defaults.get(key).unwrap_or(&Value::Null)),
            };
            assert!(right, "{heading} {kind} {key}: the page says {}", row[4]);
        }
    }
}

#[test]
fn every_key_of_the_gradient_learners_tables_is_listed() {
    let page = page();
    assert_kinds::<OptimizerConfig>(&page, "#### `optimizer`");
    assert_kinds::<ScheduleConfig>(&page, "#### `schedule`");
    assert_kinds::<AnnealConfig>(&page, "#### `anneal`");
    assert_kinds::<PositionConfig>(&page, "#### `position`");
    let clip = table(section(&page, "#### `clip`"), &["key", "meaning", "range", "example"]);
    let listed: Names = clip.iter().map(|row| code(row[0])[0].to_string()).collect();
    assert_eq!(listed, keys::<ClipConfig>());
}

#[test]
fn every_key_of_a_search_is_listed() {
    let page = page();
    let heading = "## `[search]`";
    assert_kinds::<SearchConfig>(&page, heading);
    let rows = table(section(&page, heading), &["value", "what is drawn"]);
    let named = |name: &String| rows.iter().any(|row| row.join("|").contains(&format!("{name} = ")));
    assert!(keys::<RangeConfig>().iter().all(named));
    let scales = values::<RangeScale>();
    assert!(
        !scales.is_empty()
            && scales
                .iter()
                .all(|scale| rows.iter().any(|row| row.join("|").contains(&format!("scale = \"{scale}\""))))
    );
}

#[test]
fn every_scorer_and_every_normalizer_is_listed() {
    let page = page();
    let scorers = section(&page, "## `[scorer]`");
    let kind = &table(scorers, &KEYS)[0];
    let listed: Names = code(kind[2]).iter().map(|name| name.trim_matches('"').to_string()).collect();
    assert_eq!(listed, kinds::<ScorerConfig>());
    let normalizers = table(section(&page, "## `normalizer`"), &["kind", "value of a feature"]);
    let listed: Names = normalizers.iter().map(|row| code(row[0])[0].trim_matches('"').to_string()).collect();
    assert_eq!(listed, values::<NormalizerKind>());
}

#[test]
fn every_parameter_of_every_loss_is_listed() {
    let page = page();
    let rows = table(section(&page, "## `[loss]`"), &["key", "meaning", "range", "default", "losses"]);
    let pairs = |(key, loss): (&str, &str)| format!("{loss}.{key}");
    let listed: Vec<String> = rows
        .iter()
        .flat_map(|row| code(row[4]).into_iter().map(|loss| pairs((code(row[0])[0], loss))).collect::<Vec<_>>())
        .collect();
    let mut known = Names::new();
    // A composed loss has a separate table.
    for entry in LOSSES.iter().filter(|entry| !entry.is_joined()) {
        for (key, default) in entry.defaults(&burn_rank::json::Map::new()) {
            let default = json!(default);
            let row = rows.iter().find(|row| code(row[0])[0] == key && code(row[4]).contains(&entry.name));
            let row = row.unwrap_or_else(|| panic!("docs/reference/configuration has no `{key}` of {}", entry.name));
            assert!(
                says(row[3], &serde_json::to_value(&default).unwrap()),
                "{} {key}: the page says {}, the sources {default}",
                entry.name,
                row[3]
            );
            known.insert(pairs((key.as_str(), entry.name)));
        }
    }
    assert_eq!(Names::from_iter(listed.clone()), known);
    assert_eq!(listed.len(), known.len(), "a parameter is listed twice");
}

const CELLS: &str = "### Any measure through any relaxation";

/// Returns the row of a key in a cell: the row of `RELAXATION of MEASURES`, else of one of its parts, else of every
/// cell.
fn row_of_cell<'a>(rows: &'a [Vec<&'a str>], cell: Cell, key: &str) -> Option<&'a Vec<&'a str>> {
    let (measure, relaxation) = (cell.measure.name(), cell.relaxation.name());
    let preference = |row: &Vec<&str>| match row[0].split_once(" of ") {
        Some((of, measures)) => (code(of).contains(&relaxation) && code(measures).contains(&measure)).then_some(2),
        None if row[0] == "every cell" => Some(0),
        None => code(row[0]).iter().any(|part| [measure, relaxation].contains(part)).then_some(1),
    };
    let rows = rows.iter().filter(|row| code(row[1]) == [key]);
    rows.filter_map(|row| Some((preference(row)?, row))).max_by_key(|(preferred, _)| *preferred).map(|(_, row)| row)
}

#[test]
fn every_parameter_of_every_cell_is_listed() {
    let page = page();
    let rows = table(section(&page, CELLS), &KEYS_OF_KINDS);
    let mut met = Names::new();
    for cell in Cell::all() {
        let spec = LossSpec::parse(&format!("{}:{}", cell.measure.name(), cell.relaxation.name()));
        for (key, default) in spec.resolved().unwrap() {
            let row = row_of_cell(&rows, cell, &key)
                .unwrap_or_else(|| panic!("docs/reference/configuration has no `{key}` of {spec}"));
            met.insert(row.join("|"));
            if key != "measure" && key != "relaxation" {
                let default = serde_json::to_value(json!(default)).unwrap();
                assert!(says(row[4], &default), "{spec} {key}: the page says {}, the sources {default}", row[4]);
            }
        }
    }
    assert_eq!(met.len(), rows.len(), "a row that no cell has");
}

#[test]
fn the_temperatures_are_those_that_the_page_names() {
    for entry in LOSSES {
        let is_one_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| entry.name.starts_with(prefix));
        let said = match entry.name {
            "neural_ndcg" => Some("temperature"),
            "adr_mse" => Some("alpha"),
            "stochastic_rank" => Some("sigma"),
            _ if is_one_of(&["approx_", "relaxed_measure"]) => Some("alpha"),
            _ if is_one_of(&["smooth_", "soft_"]) => Some("sigma"),
            _ => None,
        };
        assert_eq!(entry.smoothing.map(|smoothing| smoothing.parameter), said, "{}", entry.name);
    }
    for cell in Cell::all() {
        let spec = LossSpec::parse(&format!("{}:{}", cell.measure.name(), cell.relaxation.name()));
        let found = spec.smoothing().unwrap().unwrap().parameter;
        assert!(
            cell.relaxation.parameters().contains(&found) && ["alpha", "sigma"].contains(&found),
            "{spec}: {found}"
        );
    }
}

#[test]
fn every_key_of_the_other_sections_is_listed() {
    let page = page();
    let least = Document::parse(Path::new("a.toml"), blocks(&page)[1].to_string(), &[]).unwrap();
    let least = Experiment::from_document(&least).unwrap();
    let ExperimentConfig { description, seed, device, normalizer, .. } = &*least;
    let top = json!({"description": description, "seed": seed, "device": device, "normalizer": normalizer});
    for (heading, keys, defaults) in [
        ("## Top level", keys::<ExperimentConfig>(), top),
        ("## `[data]`", keys::<DataConfig>(), json!(DataConfig::default())),
        ("### `[data.synthetic]`", keys::<SyntheticConfig>(), json!(SyntheticConfig::default())),
        ("### `[data.read]`", keys::<ReadOptions>(), json!(ReadOptions::default())),
        ("### `[data.columns]`", keys::<Columns>(), json!(Columns::default())),
        ("### `[data.split]`", keys::<SplitConfig>(), json!(SplitConfig::default())),
        ("### `scorer.input`", keys::<InputConfig>(), json!(InputConfig::default())),
        ("### Conventions", keys::<Convention>(), json!({})),
        ("## `[measure]`", keys::<MeasureConfig>(), json!(MeasureConfig::default())),
        ("## `[cv]`", keys::<CrossValidationConfig>(), json!(CrossValidationConfig::default())),
    ] {
        assert!(!keys.is_empty(), "{heading}");
        assert_keys(&page, heading, &keys, &defaults);
    }
}

#[test]
fn every_value_is_named() {
    let page = page();
    let presets: Names = Convention::PRESETS.iter().map(|preset| preset.name.to_string()).collect();
    let backends: Names = burn_rank::workbench::backends().map(|(name, ..)| name.to_string()).collect();
    for (heading, values) in [
        ("## Top level", backends),
        ("## Top level", values::<Instructions>()),
        ("### `[data.read]`", values::<Missing>()),
        ("### `[data.read]`", values::<Absent>()),
        ("### `[data.read]`", values::<Groups>()),
        ("### `[data.read]`", values::<Weights>()),
        ("### `mlp`", values::<Activation>()),
        ("### `mlp`", values::<NormKind>()),
        ("### `latent_cross`", values::<Activation>()),
        ("### `latent_cross`", values::<NormKind>()),
        ("### Values of the parameters", values::<Gain>()),
        ("### Values of the parameters", values::<Step>()),
        ("### Values of the parameters", values::<DiscountShape>()),
        ("### Values of the parameters", values::<RankExpectationMethod>()),
        ("### Values of the parameters", values::<RankModel>()),
        ("### Values of the parameters", values::<LambdaLossWeights>()),
        ("### Values of the parameters", values::<TemperatureUnit>()),
        ("### Values of the parameters", values::<MeasureName>()),
        ("### Values of the parameters", values::<RelaxationName>()),
        ("### Values of the parameters", values::<TypeOneBound>()),
        ("### `ada_rank`", values_of("ada_rank", "directions")),
        ("### `ada_rank`", values_of("ada_rank", "emphasis")),
        ("### `gradient`", values::<Precision>()),
        ("### `permu_rank`", values_of("permu_rank", "pairs")),
        ("### `permu_rank`", values_of("permu_rank", "bound")),
        ("### `permu_rank`", values_of("permu_rank", "aggregation")),
        ("### `rank_svm`", values_of("rank_svm", "loss")),
        ("### `rank_svm`", values_of("rank_svm", "weighting")),
        ("### `regression`", values::<Gain>()),
        ("### `smooth_rank`", values_of("smooth_rank", "optimizer")),
        ("### Conventions", values::<Gain>()),
        ("### Conventions", values::<Discount>()),
        ("### Conventions", values::<Ties>()),
        ("### Conventions", values::<EmptyQuery>()),
        ("### Conventions", values::<NegativeLabel>()),
        ("### Conventions", values::<PrecisionDenominator>()),
        ("### Conventions", values::<AveragePrecisionDenominator>()),
        ("### Conventions", values::<AveragePrecisionTies>()),
        ("### Conventions", values::<KendallTau>()),
        ("## `[measure]`", presets),
    ] {
        assert!(!values.is_empty(), "{heading}");
        let text = section(&page, heading);
        for value in values {
            // A value with something in it is a table.
            let named = text.contains(&format!("`\"{value}\"")) || text.contains(&format!("{{ {value} = "));
            assert!(named, "{heading} does not name {value}");
        }
    }
    let measures = section(&page, "## `[measure]`");
    for family in FAMILIES {
        for name in family.aliases.iter().chain([&family.name]) {
            assert!(measures.contains(&format!("`{name}`")), "{name}");
        }
    }
}

/// Returns the lines of TOML, completed to a whole configuration.
fn completed(text: &str) -> String {
    let mut table: toml::Table = toml::from_str(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    if table.contains_key("data") && table.contains_key("learner") {
        return text.to_string();
    }
    let mut complete = |key: &str, value: &str| {
        table.entry(key).or_insert_with(|| toml::Value::Table(toml::from_str(value).unwrap())).clone()
    };
    complete("data", "synthetic = {}");
    let learner = complete("learner", "kind = \"gradient\"");
    let entry = LEARNERS.iter().find(|entry| Some(entry.name) == learner["kind"].as_str()).unwrap();
    if entry.takes_loss {
        complete("loss", "name = \"approx_ndcg\"");
    }
    toml::to_string(&table).unwrap()
}

/// The configuration as it is read from a file, with keys replaced as by `--set`.
fn try_read(text: &str, set: &[String]) -> Result<Experiment, ConfigError> {
    let document = Document::parse(Path::new("page.toml"), text.to_string(), set)?;
    Experiment::from_document(&document)
}

fn read(text: &str, set: &[&str]) -> Experiment {
    let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
    try_read(text, &set).unwrap_or_else(|error| panic!("{error} {set:?}\n{text}"))
}

#[test]
fn every_example_is_valid() {
    let page = page();
    let blocks = blocks(&page);
    assert_eq!(blocks.len(), page.matches("```").count() / 2, "every block is TOML");
    for block in blocks {
        read(&completed(block), &[]);
    }
    let examples = |heading, header: &[&str]| -> Vec<&str> {
        let rows = table(section(&page, heading), header);
        rows.into_iter().flat_map(|row| code(row[header.len() - 1])).collect()
    };
    let lines = [
        examples("#### `optimizer`", &KINDS),
        examples("#### `schedule`", &KINDS),
        examples("#### `anneal`", &KINDS),
        examples("#### `position`", &KINDS),
        examples("#### `clip`", &["key", "meaning", "range", "example"]),
    ];
    for line in lines.concat() {
        // Not every optimizer takes a scorer without hidden layers.
        let scorer = "[scorer]\nkind = \"mlp\"";
        read(&completed(&format!("{scorer}\n[learner]\nkind = \"gradient\"\n{line}\n")), &[]);
    }
}

#[test]
fn every_kind_has_an_example() {
    let page = page();
    let learners = LEARNERS.iter().map(|entry| ("learner", entry.name.to_string()));
    for (section, kind) in learners.chain(kinds::<ScorerConfig>().into_iter().map(|kind| ("scorer", kind))) {
        let line = format!("{section} = {{ kind = \"{kind}\"");
        assert!(blocks(&page).iter().any(|block| block.starts_with(&line)), "{line}");
    }
    for heading in ["#### `optimizer`", "#### `schedule`", "#### `anneal`", "#### `position`"] {
        for row in table(section(&page, heading), &KINDS) {
            assert!(code(row[2])[0].contains(&format!("kind = {}", code(row[0])[0])), "{row:?}");
        }
    }
}

#[test]
fn every_replacement_of_a_key_is_valid() {
    let page = page();
    let whole = blocks(&page)[0];
    let rows = table(section(&page, "## `--set KEY=VALUE`"), &["example", "what it does"]);
    assert!(!rows.is_empty());
    for row in rows {
        let set = code(row[0])[0];
        let config = read(whole, &[set]);
        let key = set.split_once('=').unwrap().0;
        let value = key.split('.').try_fold(&json!(*config), |value, part| value.get(part)).cloned();
        assert_eq!(value.is_none(), set.ends_with('='), "{set}: {value:?}");
    }
}

/// The page's notation of ranges: its beginning, values in the range, values outside.
const RANGES: [(&str, &[&str], &[&str]); 17] = [
    ("above 0 and below 0.5", &["0.1", "0.4"], &["0", "0.5"]),
    ("0 or above", &["0", "1000"], &["-1"]),
    ("1 or above, a divisor", &["1"], &["0", "1000"]),
    ("1 or above, less than", &["1"], &["0", "1000"]),
    ("1 or above; above 1 only with", &["1"], &["0", "1000"]),
    ("1 or above", &["1", "1000"], &["0"]),
    ("2 or above", &["2", "1000"], &["1"]),
    ("a whole number, 0 or above", &["0", "1000"], &["-1", "0.5"]),
    ("above 0, and in the range of the parameter", &["1"], &["0"]),
    ("above 0 and below 1", &["0.5"], &["0", "1"]),
    ("above 0, at most 1 ", &["0.5", "1"], &["0", "1.5"]),
    ("above 0, at most ", &["0.5"], &["0", "1000"]),
    ("above 0; one number or a list", &["0.5", "[0.5, 1000]"], &["0", "[1, 0]", "[]"]),
    ("above 0", &["0.5", "1000"], &["0"]),
    ("at least 0 and below 1", &["0", "0.5"], &["-0.5", "1"]),
    ("`true`, `false`; `false` where", &["false"], &["1", "true"]),
    ("`true`, `false`", &["false", "true"], &["1"]),
];

/// Values in a range of the page and values out of it, where it is one of those.
fn probes(range: &str) -> Option<[Vec<String>; 2]> {
    if let Some((low, high)) = range.strip_prefix("from ").and_then(|ends| ends.split_once(" to ")) {
        let number = |text: &str| text.replace(',', "").parse::<i64>().ok();
        let (low, high) = (number(low)?, number(high)?);
        return Some([[low, high], [low - 1, high + 1]].map(|ends| ends.map(|end| end.to_string()).to_vec()));
    }
    let range = format!("{range} ");
    let (_, inside, outside) = RANGES.iter().find(|(begin, ..)| range.starts_with(begin))?;
    Some([inside, outside].map(|values| values.iter().map(|value| value.to_string()).collect()))
}

#[test]
fn every_range_is_that_of_the_sources() {
    let page = page();
    let mut probed = 0;
    let mut probe = |base: &str, set: &str, key: &str, range: &str| {
        for (values, valid) in probes(range).into_iter().flatten().zip([true, false]) {
            for value in values {
                let key = format!("{key}={value}");
                let found = try_read(base, &[set.to_string(), key.clone()]);
                assert_eq!(found.is_ok(), valid, "{set} {key}, {range}: {:?}", found.err());
                probed += 1;
            }
        }
    };
    for entry in LEARNERS {
        let base = completed(&format!("learner = {{ kind = \"{}\" }}", entry.name));
        for row in table(section(&page, &format!("### `{}`", entry.name)), &KEYS) {
            probe(&base, "seed=1", &format!("learner.{}", code(row[0])[0]), row[2]);
        }
    }
    for kind in kinds::<ScorerConfig>() {
        let base = completed(&format!("scorer = {{ kind = \"{kind}\" }}"));
        // A width of 1 has no two heads.
        let set = if ["attention", "latent_cross"].contains(&kind.as_str()) { "scorer.heads=1" } else { "seed=1" };
        for row in table(section(&page, &format!("### `{kind}`")), &KEYS) {
            probe(&base, set, &format!("scorer.{}", code(row[0])[0]), row[2]);
        }
    }
    for row in table(section(&page, "## `[loss]`"), &["key", "meaning", "range", "default", "losses"]) {
        for loss in code(row[4]) {
            let base = completed(&format!("loss = {{ name = \"{loss}\" }}"));
            // No other discount looks at it.
            let set = if code(row[0]) == ["exponent"] { "loss.discount=power" } else { "seed=1" };
            probe(&base, set, &format!("loss.{}", code(row[0])[0]), row[2]);
        }
    }
    let cells = table(section(&page, CELLS), &KEYS_OF_KINDS);
    for cell in Cell::all() {
        let (measure, relaxation) = (cell.measure.name(), cell.relaxation.name());
        let base = completed(&format!("loss = {{ measure = \"{measure}\", relaxation = \"{relaxation}\" }}"));
        for key in [cell.measure.parameters(), cell.relaxation.parameters()].concat() {
            let row = row_of_cell(&cells, cell, key).unwrap();
            let set = if key == "exponent" { "loss.discount=power" } else { "seed=1" };
            probe(&base, set, &format!("loss.{key}"), row[3]);
        }
    }
    let gradient = completed("learner = { kind = \"gradient\" }\nscorer = { kind = \"mlp\" }");
    for row in table(section(&page, "### `scorer.input`"), &KEYS) {
        probe(&gradient, "seed=1", &format!("scorer.input.{}", code(row[0])[0]), row[2]);
    }
    for (table_of, least) in [
        ("optimizer", (|kind| defaults::<OptimizerConfig>(kind).0) as fn(Value) -> Value),
        ("schedule", |kind| defaults::<ScheduleConfig>(kind).0),
        ("anneal", |kind| defaults::<AnnealConfig>(kind).0),
        ("position", |kind| defaults::<PositionConfig>(kind).0),
    ] {
        for row in table(section(&page, &format!("#### `{table_of}`")), &KEYS_OF_KINDS) {
            for kind in code(row[0]) {
                let least = toml::Value::try_from(least(json!({"kind": kind.trim_matches('"')}))).unwrap();
                let set = format!("learner.{table_of}={least}");
                probe(&gradient, &set, &format!("learner.{table_of}.{}", code(row[1])[0]), row[3]);
            }
        }
    }
    let ada_rank = completed("learner = { kind = \"ada_rank\" }");
    for (heading, around) in [
        ("## Top level", ""),
        ("### `[data.synthetic]`", "data.synthetic."),
        ("### `[data.read]`", "data.read."),
        ("### Conventions", "learner.convention."),
    ] {
        for row in table(section(&page, heading), &KEYS) {
            probe(&ada_rank, "seed=1", &format!("{around}{}", code(row[0])[0]), row[2]);
        }
    }
    for row in table(section(&page, "#### `clip`"), &["key", "meaning", "range", "example"]) {
        probe(&gradient, "seed=1", &format!("learner.clip.{}", code(row[0])[0]), row[2]);
    }
    assert!(probed > 300, "{probed}");
}
