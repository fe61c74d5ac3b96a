//! `[[members]]`: the rankers of an ensemble, each with its own learner, loss, scorer and normalizer. The
//! seeds of a network (`learner.seeds`) are members that differ only in their seeds.

use burn_rank::json::{Value, from_value};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::json::json;

use super::document::Document;
use super::experiment::{Experiment, ExperimentConfig};
use super::grid::SECTIONS;
use super::sections::MemberConfig;

/// The largest number of seeds of a network.
const MOST_SEEDS: usize = 1000;

/// A member as a document has it.
struct Written {
    /// The key of its table, or nothing for the seeds of a network without `[[members]]`.
    key: String,
    table: Value,
    /// Whether it is one of several seeds.
    is_of_seeds: bool,
}

impl Experiment {
    /// Reads a document. Each of `[[members]]` is read as an experiment, and so is each of several seeds of a network.
    pub(super) fn read(document: &Document) -> Result<Self, Refusal> {
        let has_members = document.has("members");
        let is_network = document.value("learner").get("kind").and_then(Value::as_str) == Some(NETWORK);
        let is_of_seeds = is_network && document.has("learner.seeds");
        if !(has_members || is_of_seeds) {
            if document.has("standardize") {
                let fault = "requires [[members]] or several learner.seeds of `gradient`";
                return Err(Refusal::fault("standardize", fault));
            }
            return Self::read_one(document);
        }
        let written = written(document)?;
        if let ([only], false) = (&written[..], has_members) {
            return Self::read_one(&document.of_member(sections(&only.table), None)?);
        }
        let (others, next_to) = match has_members {
            true => (&SECTIONS[..], "[[members]], each of which is fitted by itself"),
            false => (&[][..], "several learner.seeds of a network"),
        };
        let mut refused = others.iter().copied().chain(["start", "grid", "search"]);
        if let Some(key) = refused.find(|key| document.has(key)) {
            return Err(Refusal::fault(key, format!("expected none next to {next_to}")));
        }
        let (mut members, mut experiments) = (Vec::new(), Vec::new());
        for (number, of) in written.iter().enumerate() {
            let mut member: MemberConfig =
                from_value(of.table.clone()).map_err(|refusal: Refusal| refusal.under(&of.key))?;
            let place = |refusal: Refusal| match SECTIONS.iter().any(|own| refusal.key.starts_with(own)) {
                true => refusal.under(&of.key),
                false => refusal,
            };
            if !(0.0..=f64::MAX).contains(&member.weight) {
                return Err(Refusal::new(format!("{}.weight", of.key), member.weight, "a finite number, at least 0"));
            }
            let mut experiment =
                Self::read_one(&document.of_member(sections(&of.table), member.round)?).map_err(place)?;
            if member.name.is_empty() || of.is_of_seeds {
                let name = if member.name.is_empty() { experiment.learner_kind() } else { member.name.as_str() };
                member.name = format!("{name}-{}", number + 1);
            }
            experiment.config.name.clone_from(&member.name);
            let ExperimentConfig { normalizer, scorer, loss, learner, .. } = experiment.config.clone();
            members.push(MemberConfig { normalizer, scorer, loss, learner, ..member });
            experiments.push(experiment);
        }
        Self::joined(document, members, experiments)
    }

    /// Joins the experiments of members.
    fn joined(document: &Document, members: Vec<MemberConfig>, mut experiments: Vec<Self>) -> Result<Self, Refusal> {
        let positions = experiments.iter().any(|member| member.data.read.positions);
        experiments.iter_mut().for_each(|member| member.config.data.read.positions = positions);
        let Some(mut joined) = experiments.first().cloned() else {
            return Err(Refusal::described("members", "an empty list", "at least one member"));
        };
        if members.iter().map(|member| member.weight).sum::<f64>() == 0.0 {
            return Err(Refusal::fault("members", "found the weight 0 for all members, expected one above 0"));
        }
        let name = document.value("name").as_str().filter(|name| !name.is_empty());
        joined.config.name = name.map_or_else(|| document.stem(), str::to_owned);
        joined.config.members = members;
        if document.has("standardize") {
            let standardize = from_value(document.value("standardize").clone());
            joined.config.standardize = standardize.map_err(|refusal: Refusal| refusal.under("standardize"))?;
        }
        joined.member_experiments = experiments.into();
        Ok(joined)
    }
}

/// Returns the sections of a member's table.
fn sections(table: &Value) -> impl Iterator<Item = (&'static str, Value)> {
    SECTIONS.into_iter().filter_map(|of| Some((of, table.get(of)?.clone())))
}

/// Returns the members of a document. A network of several seeds counts as several.
fn written(document: &Document) -> Result<Vec<Written>, Refusal> {
    let tables: Vec<(String, Value)> = match document.has("members") {
        true => {
            let tables = from_value(document.value("members").clone());
            let tables: Vec<Value> = tables.map_err(|refusal: Refusal| refusal.under("members"))?;
            tables.into_iter().enumerate().map(|(number, table)| (format!("members[{number}]"), table)).collect()
        }
        false => {
            let own = SECTIONS.into_iter().filter(|of| document.has(of));
            let table = own.map(|of| (of.to_owned(), document.value(of).clone())).collect();
            vec![(String::new(), Value::Object(table))]
        }
    };
    let mut all = Vec::new();
    for (key, mut table) in tables {
        let seeds = without_seeds(&mut table).map_err(|refusal| refusal.under(&key))?;
        let member = |_| Written { key: key.clone(), table: table.clone(), is_of_seeds: seeds > 1 };
        all.extend((0..seeds).map(member));
    }
    Ok(all)
}

/// Removes the number of seeds from the table of a network, and returns it. Other learners read the key themselves.
fn without_seeds(table: &mut Value) -> Result<usize, Refusal> {
    let learner = table.get_mut("learner").and_then(Value::as_object_mut);
    let learner = learner.filter(|learner| learner.get("kind").and_then(Value::as_str) == Some(NETWORK));
    let Some(seeds) = learner.and_then(|learner| learner.shift_remove("seeds")) else { return Ok(1) };
    match seeds.as_u64().and_then(|seeds| usize::try_from(seeds).ok()) {
        Some(seeds) if (1..=MOST_SEEDS).contains(&seeds) => Ok(seeds),
        _ => Err(Refusal::new("learner.seeds", seeds, format!("a whole number from 1 to {MOST_SEEDS}"))),
    }
}

/// Returns the table of a learner that a grid or a search tries, without its number of seeds.
pub(super) fn of_one_seed(learner: &Value) -> Result<Value, Refusal> {
    let mut table = json!({"learner": learner});
    match without_seeds(&mut table)? {
        1 => Ok(table["learner"].take()),
        seeds => Err(Refusal::new("learner.seeds", seeds, "1 where a grid or a search tries learners")),
    }
}

/// The learner of networks.
const NETWORK: &str = "gradient";

impl ExperimentConfig {
    /// Writes the members into a resolved configuration, each with its defaults filled in.
    pub(super) fn resolve_members(&self, mut value: Value) -> Value {
        if self.members.is_empty() {
            return value;
        }
        let resolved = |member: &MemberConfig| {
            let MemberConfig { normalizer, scorer, loss, learner, .. } = member.clone();
            let own = Self { normalizer, scorer, loss, learner, members: Vec::new(), ..self.clone() }.resolved();
            let mut table = json!(member);
            for key in SECTIONS.into_iter().filter(|key| !own[*key].is_null()) {
                table[key] = own[key].clone();
            }
            table
        };
        value["members"] = self.members.iter().map(resolved).collect::<Vec<_>>().into();
        if let Some(table) = value.as_object_mut() {
            SECTIONS.into_iter().for_each(|key| drop(table.shift_remove(key)));
        }
        value
    }
}
