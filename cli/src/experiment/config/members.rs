//! `[[members]]`: the rankers of an ensemble, each with a learner, a loss, a scorer and a normalizer of its own.

use burn_rank::data::NormalizerKind;
use burn_rank::json::{Map, Value, from_value};
use burn_rank::loss::LossSpec;
use burn_rank::refusal::Refusal;
use burn_rank::scorer::ScorerConfig;
use burn_rank::workbench::json::json;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::experiment::{Experiment, ExperimentConfig};

/// One of `[[members]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberConfig {
    /// The name in messages and reports; by default the kind of the learner and the number of the member.
    #[serde(default)]
    pub name: String,
    /// The weight of the member's standardized scores.
    #[serde(default = "one")]
    pub weight: f64,
    /// The number of the round whose model is kept, in place of the best round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// The normalizer of the member.
    #[serde(default)]
    pub normalizer: NormalizerKind,
    /// The scorer of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<ScorerConfig>,
    /// The loss of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// The learner of the member.
    pub learner: Map,
}

fn one() -> f64 {
    1.0
}

/// How the scores of members are standardized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standardize {
    /// To mean 0 and deviation 1 over the documents of a query.
    #[default]
    Query,
    /// By one constant for each member, its mean deviation over the validation queries.
    Fixed,
}

impl Standardize {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The sections that each member has in place of the configuration.
const OF_MEMBER: [&str; 4] = ["normalizer", "scorer", "loss", "learner"];

impl Experiment {
    /// Reads a document with `[[members]]`. `read` reads the document of one member.
    pub(super) fn of_members(
        document: &Document,
        read: impl Fn(&Document) -> Result<Self, Refusal>,
    ) -> Result<Self, Refusal> {
        for key in OF_MEMBER.into_iter().chain(["start", "grid", "search"]) {
            if document.has(key) {
                return Err(Refusal::fault(
                    key,
                    "expected none next to [[members]], each of which is fitted by itself",
                ));
            }
        }
        let tables = document.value("members");
        let mut members: Vec<MemberConfig> =
            from_value(tables.clone()).map_err(|refusal: Refusal| refusal.under("members"))?;
        let mut experiments = Vec::with_capacity(members.len());
        for (number, (member, table)) in members.iter_mut().zip(tables.as_array().into_iter().flatten()).enumerate() {
            let key = format!("members[{number}]");
            let place = |refusal: Refusal| match OF_MEMBER.iter().any(|of| refusal.key.starts_with(of)) {
                true => refusal.under(&key),
                false => refusal,
            };
            if !(0.0..=f64::MAX).contains(&member.weight) {
                return Err(Refusal::new(format!("{key}.weight"), member.weight, "a finite number, at least 0"));
            }
            let sections = OF_MEMBER.into_iter().filter_map(|of| Some((of, table.get(of)?.clone())));
            let mut experiment = read(&document.of_member(sections, member.round)?).map_err(place)?;
            let ExperimentConfig { normalizer, scorer, loss, learner, .. } = experiment.config.clone();
            if member.name.is_empty() {
                member.name = format!("{}-{}", experiment.learner_kind(), number + 1);
            }
            *member = MemberConfig { normalizer, scorer, loss, learner, ..member.clone() };
            experiment.config.name.clone_from(&member.name);
            experiments.push(experiment);
        }
        let Some(first) = experiments.first() else {
            return Err(Refusal::described("members", "an empty list", "at least one member"));
        };
        if members.iter().map(|member| member.weight).sum::<f64>() == 0.0 {
            return Err(Refusal::fault("members", "found the weight 0 for all members, expected one above 0"));
        }
        let mut experiment = first.clone();
        experiment.config.name = read_name(document);
        experiment.config.members = members;
        experiment.config.standardize = match document.has("standardize") {
            true => from_value(document.value("standardize").clone())
                .map_err(|refusal: Refusal| refusal.under("standardize"))?,
            false => Standardize::default(),
        };
        experiment.member_experiments = experiments.into();
        Ok(experiment)
    }
}

/// Returns the name of the experiment.
fn read_name(document: &Document) -> String {
    document.value("name").as_str().filter(|name| !name.is_empty()).map_or_else(|| document.stem(), str::to_owned)
}

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
            for key in OF_MEMBER.into_iter().filter(|key| !own[*key].is_null()) {
                table[key] = own[key].clone();
            }
            table
        };
        value["members"] = self.members.iter().map(resolved).collect::<Vec<_>>().into();
        if let Some(table) = value.as_object_mut() {
            OF_MEMBER.into_iter().for_each(|key| drop(table.shift_remove(key)));
        }
        value
    }
}
