//! The pages of keys. Meanings are the documentation of fields, ranges come from the errors about other values, and
//! defaults from the registries.

use std::collections::BTreeMap;
use std::fmt::Write;

use burn_rank::json::{Map, Value, from_value};
use burn_rank::learner::gradient::{AnnealConfig, OptimizerConfig, Precision, ScheduleConfig};
use burn_rank::learner::{LearnerError, Parts, PositionConfig};
use burn_rank::loss::{
    DiscountShape, LambdaLossWeights, LossError, LossSpec, MeasureName, RankExpectationMethod, RankModel,
    RelaxationName, TypeOneBound,
};
use burn_rank::measure::Gain;
use burn_rank::op::Step;
use burn_rank::refusal::Refusal;
use burn_rank::scorer::{Activation, InputConfig, NormKind, ScorerConfig};
use burn_rank::workbench::TemperatureUnit;
use burn_rank::workbench::json::json;
use burn_rank::workbench::registry::{LEARNERS, LOSSES};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sources::{about, about_default};
use crate::{Result, Rows, code, row, table};

/// The first line of a page that a program writes whole.
const MADE: &str = "<!-- made by cargo run --example made -->\n";

const KEYS: [&str; 4] = ["key", "meaning", "range", "default"];
const KEYS_OF_KINDS: [&str; 5] = ["kind", "key", "meaning", "range", "default"];

/// Tries a value of a key, and returns the error about it.
type Probe<'a> = &'a dyn Fn(&Value) -> Option<Refusal>;

/// Ranges that depend on another key, and those that have a page or a table.
const SPECIAL: [(&str, &str); 24] = [
    ("learner.measure", "a measure with values in [0, 1]"),
    ("learner.convention", "[a convention](measures.md#conventions)"),
    ("learner.increasing", "a list of features"),
    ("learner.decreasing", "a list of features"),
    ("learner.gain", "`\"exp2\"`, `\"exp2_raw\"`, `\"linear\"`, `{ table = [0.0, 1.0] }`; labels with a finite gain"),
    ("learner.last_sigma", "above 0, at most `first_sigma`"),
    ("gradient.optimizer", "[table](#optimizer)"),
    ("learner.schedule", "[table](#schedule)"),
    ("learner.anneal", "[table](#anneal)"),
    ("learner.clip", "[table](#clip)"),
    ("learner.position", "[table](#position)"),
    ("learner.seeds", "1 or above; above 1 only with `subsample`, `colsample` or `colsample_by_node` below 1"),
    ("learner.warmup", "1 or above, less than `epochs`"),
    ("learner.shards", "1 or above, at most the training queries"),
    ("learner.device_memory", "a size, as in `\"2 GiB\"`"),
    ("scorer.heads", "1 or above, a divisor of `width`"),
    ("scorer.hidden", "a list of whole numbers, 1 or above"),
    ("scorer.input", "[table](#scorerinput)"),
    ("loss.exponent", "0 or above"),
    ("optimizer.nesterov", "`true`, `false`; `false` where `momentum` is 0"),
    ("anneal.parameter", "a parameter that is not a whole number"),
    ("anneal.from", "above 0, and in the range of the parameter"),
    ("anneal.to", "above 0, and in the range of the parameter"),
    ("plateau.factor", "above 0; above 1 to reach a higher `to`"),
];

/// Keys of losses whose values have a table.
const WITH_VALUES: [&str; 9] =
    ["bound", "discount", "evaluation", "gain", "model", "relaxation", "step", "temperature_unit", "weights"];

/// Returns the range of a key, from the errors about values outside it.
fn range(owners: &[&str], key: &str, probe: Probe) -> Result<String> {
    let special = |owner: &&str| SPECIAL.iter().find(|(special, _)| *special == format!("{owner}.{key}"));
    if let Some((_, words)) = owners.iter().find_map(special) {
        return Ok(words.to_string());
    }
    let text = probe(&json!("?")).ok_or(format!("{key} accepts `?`"))?;
    if !text.known_names().is_empty() {
        let names: Vec<String> = text.known_names().iter().map(|name| format!("`\"{name}\"`")).collect();
        return Ok(names.join(", "));
    }
    if let Some(names) = text.expected.strip_prefix("one of ") {
        let names: Vec<String> = names.split(", ").map(|name| format!("`\"{}\"`", name.trim_matches('`'))).collect();
        return Ok(names.join(", "));
    }
    let words = match (probe(&json!(-1)), probe(&json!(0)), probe(&json!(1_000_000_000_000_u64))) {
        _ if probe(&json!(true)).is_none() => return Ok("`true`, `false`".into()),
        (_, Some(low), _) if !low.expected.contains("number, 0 or above") => low.expected,
        (Some(low), _, high) => {
            let high = high.map(|high| high.expected).filter(|high| !high.is_empty() && *high != low.expected);
            high.unwrap_or(low.expected)
        }
        _ => text.expected.clone(),
    };
    let words = ["a finite number ", "a finite number, ", "a number ", "a probability, ", "a cut-off of "]
        .iter()
        .find_map(|begin| words.strip_prefix(begin))
        .unwrap_or(&words);
    let words = words.strip_suffix(", or none").unwrap_or(words).replace("1 or more", "1 or above");
    let words = match (words.strip_prefix("at least "), words.split_once(" to ")) {
        (Some(least), _) if least.parse::<u64>().is_ok() => format!("{least} or above"),
        (_, Some((low, _))) if low.parse::<u64>().is_ok() => format!("from {words}"),
        _ => words,
    };
    match text.to_string().contains("list of them") {
        true => Ok(format!("{words}; one number or a list")),
        false => Ok(words),
    }
}

/// Returns a default as a page shows it. Of a table it shows the kind.
fn default(value: &Value) -> String {
    match value {
        Value::Null => code("none"),
        Value::Object(table) => {
            table.get("kind").map_or("its defaults".into(), |kind| format!("`{{ kind = {kind} }}`"))
        }
        value => code(&value.to_string().replace(',', ", ")),
    }
}

/// Returns a default with what the documentation says about it.
fn default_of(value: &Value, source: &str, owner: &str, key: &str) -> Result<String> {
    let said = if value.is_null() { about_default(source, owner, key)? } else { None };
    Ok(said.map_or_else(|| default(value), |said| format!("{}: {said}", default(value))))
}

fn refused(result: std::result::Result<impl Sized, LearnerError>) -> Option<Refusal> {
    match result.err()? {
        LearnerError::Refused(refusal) => Some(refusal),
        LearnerError::Loss(LossError::Parameter { refusal, .. }) => Some(refusal),
        other => Some(Refusal::fault("", other)),
    }
}

/// Returns a heading and a table.
fn section(page: &mut String, heading: &str, rows: &Rows) -> Result<()> {
    write!(page, "\n{heading}\n\n{}", table(rows)?)?;
    Ok(())
}

/// Returns the page of the keys of learners and scorers.
pub fn learners() -> Result<String> {
    let mut page = format!("{MADE}# Keys of learners and scorers\n\n");
    page += "[Learners](learners.md) and [scorers](scorers.md) say what they do. This page has their keys.\n";
    page += "With the scorer `mlp`, some defaults [are others](learners.md#defaults-of-a-perceptron).\n";
    let names: Vec<String> = LEARNERS.iter().map(|entry| format!("`\"{}\"`", entry.name)).collect();
    section(
        &mut page,
        "## `[learner]`",
        &vec![row(KEYS), row(["`kind`", "The learner", &names.join(", "), "required"])],
    )?;
    for entry in LEARNERS {
        let source = format!("src/learner/{}/mod.rs", entry.name);
        let (source, owner) = match entry.name {
            "boosted_trees" | "gradient" => (format!("src/learner/{}/config.rs", entry.name), camel(entry.name)),
            _ => (source, camel(entry.name)),
        };
        let loss = LossSpec::parse("lambda_ndcg");
        let parts = if entry.takes_loss && !entry.takes_scorer || entry.name == "gradient" {
            Parts::default().with_loss(loss)
        } else {
            Parts::default()
        };
        let mut rows = vec![row(KEYS)];
        for (key, value) in entry.parameters().iter().filter(|(key, _)| *key != "kind") {
            let probe = |value: &Value| {
                let params: Map = [(key.to_owned(), value.clone())].into_iter().collect();
                refused(entry.build(&params, &parts))
            };
            let owner = format!("{owner}Config");
            let range = range(&[entry.name, "learner"], key, &probe)?;
            let default = default_of(value, &source, &owner, key)?;
            rows.push(row([&code(key), &about(&source, &owner, key)?, &range, &default]));
        }
        section(&mut page, &format!("### `{}`", entry.name), &rows)?;
        if entry.name == "gradient" {
            gradient_tables(&mut page)?;
        }
    }
    section(&mut page, "### Values of the keys", &values(&OF_LEARNERS)?)?;
    scorers(&mut page)?;
    Ok(page)
}

fn camel(name: &str) -> String {
    name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Examples of the kinds of a table, each with the keys that it needs.
const EXAMPLES: [(&str, &str, &str); 21] = [
    ("optimizer", "adam", ", beta_2 = 0.99"),
    ("optimizer", "adamw", ", weight_decay = 0.001"),
    ("optimizer", "sgd", ", momentum = 0.9, nesterov = true"),
    ("optimizer", "rmsprop", ", alpha = 0.9, centered = true"),
    ("optimizer", "adagrad", ", lr_decay = 0.01"),
    ("optimizer", "lion", ", beta_1 = 0.95, beta_2 = 0.98"),
    ("optimizer", "adan", ", weight_decay = 0.02"),
    ("optimizer", "lamb", ", weight_decay = 0.01"),
    ("optimizer", "adafactor", ", relative_step = false"),
    ("optimizer", "muon", ", momentum = 0.9"),
    ("optimizer", "lbfgs", ", history = 20"),
    ("schedule", "constant", ""),
    ("schedule", "cosine", ", floor = 0.01"),
    ("schedule", "linear", ", floor = 0.1"),
    ("schedule", "exponential", ", factor = 0.97"),
    ("schedule", "step", ", epochs = 20, factor = 0.5"),
    ("schedule", "noam", ", warmup = 5"),
    ("anneal", "geometric", ", from = 1.0, to = 100.0"),
    ("anneal", "linear", ", parameter = \"beta\", from = 1.0, to = 10.0, epochs = 50"),
    ("anneal", "plateau", ", from = 1.0, to = 64.0, factor = 2.0, patience = 3"),
    ("position", "additive", ", l2 = 0.1"),
];

/// Adds the tables of the learner `gradient` that have kinds.
fn gradient_tables(page: &mut String) -> Result<()> {
    kinds::<OptimizerConfig>(page, "optimizer", "src/learner/gradient/optimizer.rs", "OptimizerConfig")?;
    kinds::<ScheduleConfig>(page, "schedule", "src/learner/gradient/schedule.rs", "ScheduleConfig")?;
    kinds::<AnnealConfig>(page, "anneal", "src/learner/shared/anneal.rs", "AnnealConfig")?;
    kinds::<PositionConfig>(page, "position", "src/learner/shared/position.rs", "PositionConfig")?;
    let mut rows = vec![row(["key", "meaning", "range", "example"])];
    for (key, example) in [("value", "0.5"), ("norm", "1.0")] {
        let meaning = about("src/learner/gradient/optimizer.rs", "ClipConfig", key)?;
        rows.push(row([&code(key), &meaning, "above 0", &code(&format!("clip = {{ {key} = {example} }}"))]));
    }
    section(page, "#### `clip`", &rows)
}

/// Returns the least table of this kind: its required keys, each 1, and the values of all keys.
fn least<T: DeserializeOwned + Serialize>(kind: &str) -> Result<(Map, Map)> {
    let mut given = json!({ "kind": kind });
    loop {
        match from_value::<T>(given.clone()) {
            Ok(value) => match (given, json!(value)) {
                (Value::Object(given), Value::Object(all)) => return Ok((given, all)),
                _ => return Err(format!("{kind} is no table").into()),
            },
            Err(refusal) => given[refusal.missing_name().ok_or_else(|| refusal.to_string())?] = json!(1),
        }
    }
}

fn kinds<T: DeserializeOwned + Serialize>(page: &mut String, name: &str, source: &str, owner: &str) -> Result<()> {
    let Err(known) = from_value::<T>(json!({ "kind": "?" })) else { return Err(format!("{name} has no kinds").into()) };
    let mut kinds = vec![row(["kind", "what", "example"])];
    let mut keys: BTreeMap<[String; 4], Vec<String>> = BTreeMap::new();
    let mut order = Vec::new();
    for kind in known.known_names() {
        let (_, _, example) = EXAMPLES
            .iter()
            .find(|(of, known, _)| of == &name && known == kind)
            .ok_or(format!("no example of {kind}"))?;
        let example = code(&format!("{name} = {{ kind = \"{kind}\"{example} }}"));
        let quoted = format!("`\"{kind}\"`");
        kinds.push(row([&quoted, &about(source, owner, kind)?, &example]));
        let Err(fields) = from_value::<T>(json!({ "kind": kind, "?": 0 })) else { continue };
        let (given, all) = least::<T>(kind)?;
        let gradient = LEARNERS.iter().find(|entry| entry.name == "gradient").ok_or("no gradient")?;
        let scorer: ScorerConfig = from_value(json!({ "kind": "mlp" })).map_err(|refusal| refusal.to_string())?;
        let parts = Parts::default().with_loss(LossSpec::parse("approx_ndcg")).with_scorer(&scorer);
        for key in fields.known_names() {
            let probe = |value: &Value| {
                let mut table = given.clone();
                table.insert(key.clone(), value.clone());
                let params: Map = [(name.to_owned(), Value::Object(table))].into_iter().collect();
                refused(gradient.build(&params, &parts))
            };
            let range = range(&[kind, name], key, &probe)?;
            let meaning = about(source, owner, &format!("{kind}.{key}"))?;
            let default = match given.contains_key(key) {
                true => "required".to_owned(),
                false => default(all.get(key).unwrap_or(&Value::Null)),
            };
            let row = [code(key), meaning, range, default];
            if !keys.contains_key(&row) {
                order.push(row.clone());
            }
            keys.entry(row).or_default().push(quoted.clone());
        }
    }
    section(page, &format!("#### `{name}`"), &kinds)?;
    let mut rows = vec![row(KEYS_OF_KINDS)];
    rows.extend(order.into_iter().map(|row| [vec![keys[&row].join(", ")], row.to_vec()].concat()));
    write!(page, "\n{}", table(&rows)?)?;
    Ok(())
}

/// Adds the keys of scorers.
fn scorers(page: &mut String) -> Result<()> {
    let Err(known) = from_value::<ScorerConfig>(json!({ "kind": "?" })) else { return Err("no scorers".into()) };
    let names: Vec<String> = known.known_names().iter().map(|kind| format!("`\"{kind}\"`")).collect();
    section(page, "## `[scorer]`", &vec![row(KEYS), row(["`kind`", "The scorer", &names.join(", "), "required"])])?;
    for kind in known.known_names() {
        let (given, all) = least::<ScorerConfig>(kind)?;
        let mut rows = vec![row(KEYS)];
        let Err(fields) = from_value::<ScorerConfig>(json!({ "kind": kind, "?": 0 })) else { continue };
        for key in fields.known_names() {
            let probe = |value: &Value| {
                let mut table = given.clone();
                table.insert(key.clone(), value.clone());
                match from_value::<ScorerConfig>(Value::Object(table)) {
                    Err(refusal) => Some(refusal),
                    Ok(scorer) => scorer.check().err(),
                }
            };
            let owner = match kind.as_str() {
                "linear" => "LinearScorerConfig".to_owned(),
                kind => format!("{}ScorerConfig", camel(kind)),
            };
            let meaning = about(&format!("src/scorer/{kind}.rs"), &owner, key)?;
            let default = all.get(key).map_or("nothing".into(), default);
            rows.push(row([&code(key), &meaning, &range(&["scorer"], key, &probe)?, &default]));
        }
        section(page, &format!("### `{kind}`"), &rows)?;
    }
    let Value::Object(input) = json!(InputConfig::default()) else { return Err("no table".into()) };
    let mut rows = vec![row(KEYS)];
    for (key, value) in &input {
        let meaning = about("src/scorer/input.rs", "InputConfig", key)?;
        let range = if value.is_boolean() { "`true`, `false`" } else { "0 or above" };
        rows.push(row([&code(key), &meaning, range, &default(value)]));
    }
    section(page, "### `scorer.input`", &rows)
}

/// A table of values: its key, the file and the type that document the values, and the values.
type Values = (&'static str, &'static str, &'static str, fn() -> Vec<String>);

/// The values of an enum.
fn names<T: DeserializeOwned>() -> Vec<String> {
    from_value::<T>(json!("?")).err().map(|refusal| refusal.known_names().to_vec()).unwrap_or_default()
}

/// The values of a key of a learner.
fn of_learner(kind: &str, key: &str) -> Vec<String> {
    let params: Map = [(key.to_owned(), json!("?"))].into_iter().collect();
    let entry = LEARNERS.iter().find(|entry| entry.name == kind);
    let parts = Parts::default().with_loss(LossSpec::parse("lambda_ndcg"));
    let parts = if entry.is_some_and(|entry| entry.takes_loss) { parts } else { Parts::default() };
    entry
        .and_then(|entry| refused(entry.build(&params, &parts)))
        .map(|refusal| refusal.known_names().to_vec())
        .unwrap_or_default()
}

const OF_LEARNERS: [Values; 13] = [
    ("growth", "src/learner/boosted_trees/config.rs", "Growth", || of_learner("boosted_trees", "growth")),
    ("steps", "src/learner/boosted_trees/config.rs", "Steps", || of_learner("boosted_trees", "steps")),
    ("precision", "src/learner/gradient/precision.rs", "Precision", names::<Precision>),
    ("directions", "src/learner/ada_rank/mod.rs", "Directions", || of_learner("ada_rank", "directions")),
    ("emphasis", "src/learner/ada_rank/mod.rs", "Emphasis", || of_learner("ada_rank", "emphasis")),
    ("pairs", "src/learner/permu_rank/mod.rs", "Pairs", || of_learner("permu_rank", "pairs")),
    ("bound", "src/learner/permu_rank/bounds.rs", "TypeTwoBound", || of_learner("permu_rank", "bound")),
    ("aggregation", "src/learner/permu_rank/bounds.rs", "PairAggregation", || of_learner("permu_rank", "aggregation")),
    ("loss", "src/learner/rank_svm/mod.rs", "RankSvmLoss", || of_learner("rank_svm", "loss")),
    ("weighting", "src/learner/rank_svm/risk.rs", "PairWeighting", || of_learner("rank_svm", "weighting")),
    ("optimizer", "src/learner/smooth_rank/mod.rs", "Optimizer", || of_learner("smooth_rank", "optimizer")),
    ("activation", "src/scorer/layers.rs", "Activation", names::<Activation>),
    ("norm", "src/scorer/layers.rs", "NormKind", names::<NormKind>),
];

const OF_LOSSES: [Values; 10] = [
    ("gain", "src/measure/gain.rs", "Gain", names::<Gain>),
    ("discount", "src/loss/surrogate/names.rs", "DiscountShape", names::<DiscountShape>),
    ("step", "src/op/cpu/parameters.rs", "Step", names::<Step>),
    (
        "evaluation",
        "src/loss/surrogate/relaxation/expected/method.rs",
        "RankExpectationMethod",
        names::<RankExpectationMethod>,
    ),
    ("model", "src/loss/surrogate/relaxation/expected/method.rs", "RankModel", names::<RankModel>),
    ("temperature_unit", "src/loss/temperature.rs", "TemperatureUnit", names::<TemperatureUnit>),
    ("bound", "src/loss/surrogate/transform.rs", "TypeOneBound", names::<TypeOneBound>),
    ("weights", "src/loss/pairwise/lambda_loss.rs", "LambdaLossWeights", names::<LambdaLossWeights>),
    ("measure", "src/loss/surrogate/names.rs", "MeasureName", names::<MeasureName>),
    ("relaxation", "src/loss/surrogate/names.rs", "RelaxationName", names::<RelaxationName>),
];

/// Returns the rows of values with what each means.
fn values(tables: &[Values]) -> Result<Rows> {
    let mut rows = vec![row(["key", "value", "meaning"])];
    for (key, source, owner, values) in tables {
        let values = values();
        if values.is_empty() {
            return Err(format!("no values of {key}").into());
        }
        let mut first = code(key);
        let mut met = Vec::new();
        for value in values {
            let Ok(meaning) = about(source, owner, &value) else {
                // Another name of a value that is listed.
                met.push(value);
                continue;
            };
            let shown = match value.as_str() {
                "table" => code("{ table = [1.0, 0.5] }"),
                value => format!("`\"{value}\"`"),
            };
            rows.push(vec![std::mem::take(&mut first), shown, meaning]);
        }
        if !met.is_empty() {
            let quoted =
                |names: Vec<&str>| names.iter().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ");
            let measure = |name: &String| from_value::<MeasureName>(json!(name)).map(MeasureName::name);
            let ours: std::result::Result<Vec<&str>, Refusal> = met.iter().map(measure).collect();
            let ours = ours.map_err(|_| format!("nothing about {met:?} of {key}"))?;
            let others = quoted(met.iter().map(String::as_str).collect());
            rows.push(vec![String::new(), others, format!("Other names of {}", quoted(ours))]);
        }
    }
    Ok(rows)
}

/// The text about the unit of a temperature, and its default.
const UNIT: &str = "What the temperature is counted in";
const UNITS: &str =
    "; `\"score\"` where the temperature is named ([temperatures](losses.md#temperatures-that-are-not-named))";

/// Returns what the sources say about a parameter of a loss.
fn about_parameter(loss: &str, key: &str) -> Result<String> {
    let joined = ("src/loss/surrogate/relaxed_measure.rs".to_owned(), "RelaxedMeasureConfig".to_owned());
    let folders = ["listwise", "pairwise", "pointwise"].map(|folder| format!("src/loss/{folder}/{loss}.rs"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = folders.into_iter().find(|file| root.join(file).exists());
    let (source, owner) = own.map_or(joined, |file| (file, format!("{}Config", camel(loss))));
    match key {
        "temperature_unit" => Ok(UNIT.into()),
        _ => about(&source, &owner, key).or_else(|error| match key {
            "alpha" | "sigma" => {
                about(&source, &owner, "temperature").map(|words| words.split(". ").next().unwrap_or_default().into())
            }
            _ => Err(error),
        }),
    }
}

/// Returns the page of the parameters of losses.
pub fn losses() -> Result<String> {
    let mut page = format!("{MADE}# Parameters of losses\n\n");
    page += "[Losses](losses.md) says how a configuration chooses a loss. `burn-rank models --losses` lists the losses.\n\
         A number above 0 is from 1e-12 to 1e12.\n";
    let mut losses: BTreeMap<[String; 4], Vec<String>> = BTreeMap::new();
    let mut bare = Vec::new();
    for entry in LOSSES.iter().filter(|entry| !entry.is_joined()) {
        let parameters = entry.defaults(&Map::new());
        if parameters.is_empty() {
            bare.push(code(entry.name));
        }
        for (key, value) in &parameters {
            let probe =
                |value: &Value| refused_loss(entry.build(&[(key.clone(), value.clone())].into_iter().collect()));
            let row = parameter(entry.name, key, value, &probe)?;
            losses.entry(row).or_default().push(code(entry.name));
        }
    }
    let mut rows = vec![row(["key", "meaning", "range", "default", "losses"])];
    rows.extend(losses.into_iter().map(|(row, losses)| [row.to_vec(), vec![losses.join(", ")]].concat()));
    section(&mut page, "## `[loss]`", &rows)?;
    write!(page, "\n{} have no parameters.\n", bare.join(", "))?;
    section(&mut page, "### Any measure through any relaxation", &cells()?)?;
    section(&mut page, "### Values of the parameters", &values(&OF_LOSSES)?)?;
    Ok(page)
}

fn refused_loss(result: std::result::Result<impl Sized, LossError>) -> Option<Refusal> {
    match result.err()? {
        LossError::Parameter { refusal, .. } => Some(refusal),
        other => Some(Refusal::fault("", other)),
    }
}

/// Returns the cells of a parameter: key, meaning, range and default.
fn parameter(loss: &str, key: &str, value: &Value, probe: Probe) -> Result<[String; 4]> {
    let range = match WITH_VALUES.contains(&key) {
        true => "[values](#values-of-the-parameters)".to_owned(),
        false => range(&["loss"], key, probe)?,
    };
    let default = match (key, value.as_str()) {
        ("temperature_unit", Some("spread")) => format!("{}{UNITS}", default(value)),
        _ => default(value),
    };
    Ok([code(key), about_parameter(loss, key)?, range, default])
}

/// Returns the rows of the parameters of cells.
fn cells() -> Result<Rows> {
    let of = |measure: MeasureName, relaxation: RelaxationName| -> Result<Map> {
        let spec = LossSpec::parse(&format!("{}:{}", measure.name(), relaxation.name()));
        Ok(spec.resolved()?)
    };
    let (first_measure, first_relaxation) = (MeasureName::ALL[0], RelaxationName::ALL[0]);
    let row_of = |measure: MeasureName, relaxation: RelaxationName, key: &str, value: &Value| -> Result<[String; 4]> {
        let probe = |value: &Value| {
            let given = json!({ "measure": measure.name(), "relaxation": relaxation.name(), key: value });
            let Value::Object(given) = given else { return None };
            let entry = LOSSES.iter().find(|entry| entry.is_joined())?;
            refused_loss(entry.build(&given))
        };
        match key {
            "measure" | "relaxation" => {
                let about = about_parameter("", key)?;
                Ok([code(key), about, "[values](#values-of-the-parameters)".into(), default(value)])
            }
            _ => parameter("", key, value, &probe),
        }
    };
    let mut rows = vec![row(KEYS_OF_KINDS)];
    let mut push = |kind: String, row: [String; 4]| rows.push([vec![kind], row.to_vec()].concat());
    let all = LOSSES.iter().find(|entry| entry.is_joined()).ok_or("no joined loss")?.defaults(&Map::new());
    let own = [first_measure.parameters(), first_relaxation.parameters()].concat();
    for (key, value) in all.iter().filter(|(key, _)| !own.contains(&key.as_str())) {
        push("every cell".into(), row_of(first_measure, first_relaxation, key, value)?);
    }
    // A key of a measure has the same default through every relaxation.
    let mut keys: BTreeMap<[String; 4], Vec<String>> = BTreeMap::new();
    for &measure in MeasureName::ALL {
        for key in measure.parameters() {
            let value = &of(measure, first_relaxation)?[*key];
            keys.entry(row_of(measure, first_relaxation, key, value)?).or_default().push(code(measure.name()));
        }
    }
    keys.into_iter().for_each(|(row, measures)| push(measures.join(", "), row));
    // A key of a relaxation may have other defaults for some measures.
    for &relaxation in RelaxationName::ALL {
        for key in relaxation.parameters() {
            let mut rows: Vec<([String; 4], Vec<String>)> = Vec::new();
            for &measure in MeasureName::ALL {
                let row = row_of(measure, relaxation, key, &of(measure, relaxation)?[*key])?;
                match rows.iter_mut().find(|(known, _)| *known == row) {
                    Some((_, measures)) => measures.push(code(measure.name())),
                    None => rows.push((row, vec![code(measure.name())])),
                }
            }
            let is_one = rows.len() == 1;
            for (row, measures) in rows {
                let of = if is_one { String::new() } else { format!(" of {}", measures.join(", ")) };
                push(format!("{}{of}", code(relaxation.name())), row);
            }
        }
    }
    Ok(rows)
}
