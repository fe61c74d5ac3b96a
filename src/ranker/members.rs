//! `Members` are several rankers that score documents as one.
//!
//! A member's score `s` of a document becomes `(s - mean) / deviation`, where mean and population deviation are taken
//! over the documents of the query. If the member gives all of them the same score, the result is 0. The ranker's score
//! is the weighted mean over the members. Scores therefore depend on the documents that are scored together: another
//! candidate can change the order of two documents. With fixed deviations, a member's score is only divided by a
//! constant, its mean deviation over validation queries. Documents are then scored one by one.
//!
//! Scoring costs as much as scoring with each member, and a pass over the scores.

use std::collections::BTreeMap;
use std::ops::Range;

use burn::tensor::Device;

use super::artifact::{Metadata, Ranker};
use super::error::{ModelError, RankerError};
use super::model::Model;
use super::parts::{Array, Parts};
#[cfg(feature = "export")]
use super::tree_ensemble::TreeEnsemble;
use crate::data::{Normalizer, RankingDataset};
use crate::json::{Map, Value, json};
use crate::text::counted;

/// One ranker of an ensemble.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name of the member in messages and on the model card, such as the path of its file.
    pub name: String,
    /// The weight of the member's standardized scores, at least 0.
    pub weight: f64,
    /// The ranker, with its own normalizer.
    pub ranker: Ranker,
}

/// Several rankers of the same features. A document's score is the weighted mean of the members' standardized scores.
#[derive(Debug, Clone)]
pub struct Members {
    members: Vec<Member>,
    /// The constant that each member's scores are divided by; `None` standardizes the scores of each query.
    deviations: Option<Vec<f64>>,
}

impl Members {
    /// Joins rankers whose scores are standardized per query.
    ///
    /// # Errors
    /// Returns [`RankerError::Members`] if there are no members, if a weight is negative or not finite, if all weights
    /// are 0, or if the members do not have the same features. The message names the member.
    pub fn new(members: Vec<Member>) -> Result<Self, RankerError> {
        let refuse = |reason: String| Err(RankerError::Members(reason));
        let Some(first) = members.first() else { return refuse("found no members, expected at least one".into()) };
        for Member { name, weight, .. } in &members {
            if !(0.0..=f64::MAX).contains(weight) {
                return refuse(format!(
                    "member `{name}`: found the weight {weight}, expected a finite number, at least 0"
                ));
            }
        }
        let total: f64 = members.iter().map(|member| member.weight).sum();
        if !(f64::MIN_POSITIVE..=f64::MAX).contains(&total) {
            return refuse(format!("found weights with the sum {total}, expected a finite sum above 0"));
        }
        let named = members.iter().find(|member| member.ranker.metadata().feature_names.is_some()).unwrap_or(first);
        for Member { name, ranker, .. } in &members {
            let (found, expected) = (ranker.features(), named.ranker.features());
            if found != expected {
                let (found, named) = (counted(found, "feature"), &named.name);
                return refuse(format!("member `{name}`: found {found}, expected {expected}, as member `{named}` has"));
            }
            let (found, expected) = (&ranker.metadata().feature_names, &named.ranker.metadata().feature_names);
            let pairs = found.iter().flatten().zip(expected.iter().flatten()).zip(1..);
            if let Some(((found, expected), number)) =
                pairs.into_iter().find(|((found, expected), _)| found != expected)
            {
                let [found, expected] = [found, expected].map(|name| name.escape_debug());
                let found = format!("member `{name}`: feature {number} is `{found}`, expected `{expected}`");
                return refuse(format!("{found}, as member `{}` has", named.name));
            }
        }
        Ok(Self { members, deviations: None })
    }

    /// Divides the scores of each member by a constant instead, its mean deviation over the queries of `validation`.
    /// The data must be raw.
    ///
    /// # Errors
    /// Returns [`RankerError`] if a member cannot score the data. Returns [`RankerError::Members`] if a member gives
    /// the documents of every query the same score.
    pub fn with_fixed_deviations(mut self, validation: &RankingDataset, device: &Device) -> Result<Self, RankerError> {
        let deviation = |Member { name, ranker, .. }: &Member| {
            let scores = ranker.predict(validation, device)?;
            let queries = queries_of(validation).filter(|range| !range.is_empty());
            let deviations: Vec<f64> = queries.map(|range| moments(&scores[range]).1).collect();
            let mean = deviations.iter().sum::<f64>() / deviations.len().max(1) as f64;
            match (f64::MIN_POSITIVE..=f64::MAX).contains(&mean) {
                true => Ok(mean),
                false => {
                    let found = format!("member `{name}`: found the mean deviation {mean} on the validation queries");
                    Err(RankerError::Members(format!("{found}, expected scores that differ within a query")))
                }
            }
        };
        self.deviations = Some(self.members.iter().map(deviation).collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// Returns the members in their order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the constant that each member's scores are divided by, or `None` if the scores of each query are
    /// standardized.
    pub fn fixed_deviations(&self) -> Option<&[f64]> {
        self.deviations.as_deref()
    }

    /// Returns the number of features of a document.
    pub(super) fn features(&self) -> usize {
        self.members[0].ranker.features()
    }

    /// Returns each member with its share of the sum of the weights, and what its scores are divided by.
    pub(super) fn shares(&self) -> impl Iterator<Item = (&Member, f64, Option<f64>)> {
        let total: f64 = self.members.iter().map(|member| member.weight).sum();
        let deviation = |number: usize| self.deviations.as_ref().map(|deviations| deviations[number]);
        let members = self.members.iter().enumerate();
        members.map(move |(number, member)| (member, member.weight / total, deviation(number)))
    }

    /// Returns one score per document. `scores_of` scores normalized data with the model of a member.
    pub(super) fn scores(
        &self,
        data: &RankingDataset,
        scores_of: impl Fn(&Model, &RankingDataset) -> Vec<f32>,
    ) -> Vec<f32> {
        let mut sums = vec![0.0; data.documents()];
        for (member, share, deviation) in self.shares().filter(|(_, share, _)| *share > 0.0) {
            let (normalizer, model) = (member.ranker.normalizer(), member.ranker.model());
            let scores = match normalizer.changes_nothing() {
                true => scores_of(model, data),
                false => {
                    let mut own = data.clone();
                    normalizer.apply_unasked(&mut own);
                    scores_of(model, &own)
                }
            };
            let mut add = |range: Range<usize>, mean: f64, scale: f64| {
                let scores = scores[range.clone()].iter().map(|&score| (f64::from(score) - mean) * scale);
                sums[range].iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
            };
            match deviation {
                Some(deviation) => add(0..data.documents(), 0.0, share / deviation),
                None => queries_of(data).for_each(|range| {
                    let (mean, deviation) = moments(&scores[range.clone()]);
                    if deviation != 0.0 {
                        add(range, mean, share / deviation);
                    }
                }),
            }
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }

    /// Returns the same scores as one sum of trees with its normalizer, if the members are trees of one normalizer and
    /// their deviations are fixed.
    #[cfg(feature = "export")]
    pub(super) fn as_trees(&self) -> Option<(&Normalizer, TreeEnsemble)> {
        let normalizer = self.members[0].ranker.normalizer();
        let mut all = TreeEnsemble::new(normalizer.columns());
        for (member, share, deviation) in self.shares() {
            let Model::Trees(trees) = member.ranker.model() else { return None };
            if member.ranker.normalizer() != normalizer {
                return None;
            }
            all.append(trees.arrays().clone(), share / deviation?);
        }
        Some((normalizer, all))
    }

    /// Splits the members into the parts that are saved. The arrays of a member are named after its number.
    pub(super) fn to_parts(&self) -> Parts {
        let (mut members, mut arrays) = (Vec::new(), Vec::new());
        for (number, (Member { name, weight, ranker }, _, deviation)) in self.shares().enumerate() {
            let Parts { kind, config, arrays: own } = Parts::from_model(ranker.model());
            let saved = ranker.saved();
            let mut entry = json!({ "name": name, "weight": weight, "ranker": saved, "kind": kind, "config": config });
            if let Some(deviation) = deviation {
                entry["deviation"] = json!(deviation);
            }
            members.push(entry);
            arrays.extend(own.into_iter().map(|array| Array { name: format!("{number}.{}", array.name), ..array }));
        }
        Parts { kind: "members".into(), config: json!({ "members": members }), arrays }
    }

    /// Builds the members from saved parts.
    pub(super) fn from_parts(config: &Value, arrays: Vec<Array>, device: &Device) -> Result<Self, ModelError> {
        let mut arrays_of: BTreeMap<String, Vec<Array>> = BTreeMap::new();
        for array in arrays {
            let (number, name) = array.name.split_once('.').unwrap_or(("", &array.name));
            let (number, name) = (number.to_owned(), name.to_owned());
            arrays_of.entry(number).or_default().push(Array { name, ..array });
        }
        let entries: Vec<Value> = crate::json::from_value(config["members"].clone())
            .map_err(|error| ModelError(format!("model configuration: members: {error}")))?;
        let (mut members, mut deviations) = (Vec::new(), Vec::new());
        for (number, entry) in entries.iter().enumerate() {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let (name, weight) = (text("name"), entry["weight"].as_f64().unwrap_or(f64::NAN));
            let arrays = arrays_of.remove(&number.to_string()).unwrap_or_default();
            let parts = Parts { kind: text("kind"), config: entry["config"].clone(), arrays };
            let built = Ranker::from_saved(parts, entry["ranker"].clone(), device);
            let ranker = built.map_err(|reason| ModelError(format!("member `{name}`: {reason}")))?;
            members.push(Member { name, weight, ranker });
            deviations.extend(entry["deviation"].as_f64());
        }
        if let Some(array) = arrays_of.values().flatten().next() {
            return Err(ModelError(format!("unexpected array `{}`: no member has it", array.name)));
        }
        let mut built = Self::new(members).map_err(|error| ModelError(error.to_string()))?;
        let usable = deviations.iter().all(|deviation| (f64::MIN_POSITIVE..=f64::MAX).contains(deviation));
        if !usable || ![0, entries.len()].contains(&deviations.len()) {
            let expected = "one for each member or none, finite and above 0";
            return Err(ModelError(format!(
                "model configuration: deviations: found {deviations:?}, expected {expected}"
            )));
        }
        built.deviations = Some(deviations).filter(|deviations| !deviations.is_empty());
        Ok(built)
    }

    /// Returns the record of an ensemble: how its data are read, and the training of each member.
    fn metadata(&self) -> Metadata {
        let records: Vec<&Metadata> = self.members.iter().map(|member| member.ranker.metadata()).collect();
        let first = records.iter().copied().find(|record| !record.is_imported()).unwrap_or(records[0]);
        let mut config = Map::new();
        for key in ["data", "cv", "import"] {
            if !first.config[key].is_null() {
                config.insert(key.to_owned(), first.config[key].clone());
            }
        }
        let members = self.shares().map(|(Member { name, weight, ranker }, _, deviation)| {
            json!({ "name": name, "weight": weight, "deviation": deviation, "config": ranker.metadata().config })
        });
        config.insert("members".to_owned(), members.collect::<Vec<_>>().into());
        let is_shared = records.iter().all(|record| record.data_hash == first.data_hash);
        Metadata {
            feature_names: records.iter().find_map(|record| record.feature_names.clone()),
            config: config.into(),
            convention: first.convention.clone(),
            data_hash: if is_shared { first.data_hash.clone() } else { "several".to_owned() },
            seed: first.seed,
            ..Metadata::default()
        }
    }
}

impl Ranker {
    /// Creates the ranker that scores with several rankers. Its metadata hold the configurations of the members. They
    /// have no measures, because nothing is measured here.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use burn_rank::data::{Normalizer, NormalizerKind, RankingDataset};
    /// use burn_rank::ranker::{Member, Members, Metadata, Model, Ranker, TreeEnsemble};
    ///
    /// let query = RankingDataset::builder()
    ///     .features(vec![1.0, -1.0, -1.0, 1.0], 2)
    ///     .labels(vec![0.0, 0.0])
    ///     .query_sizes(&[2])
    ///     .build()?;
    /// // Each member looks at one feature: whether it is above 0.
    /// let member = |feature: u32, weight| {
    ///     let leaf = u32::MAX;
    ///     let trees: TreeEnsemble = serde_json::from_value(serde_json::json!({
    ///         "feature_count": 2, "roots": [0], "feature": [feature, leaf, leaf], "threshold": [0.0, 0.0, 0.0],
    ///         "left": [1, 0, 0], "right": [2, 0, 0], "value": [0.0, -10.0, 10.0],
    ///     }))?;
    ///     let normalizer = Normalizer::fit(&query, NormalizerKind::None);
    ///     let ranker = Ranker::new(normalizer, Model::Trees(trees), Metadata::default())?;
    ///     Ok::<_, Box<dyn std::error::Error>>(Member { name: format!("feature {feature}"), weight, ranker })
    /// };
    /// let ranker = Ranker::of_members(Members::new(vec![member(0, 3.0)?, member(1, 1.0)?])?)?;
    /// // Standardized scores are 1 and -1.
    /// assert_eq!(ranker.predict(&query, &Device::flex())?, [0.5, -0.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`RankerError::Mismatch`] if the names of the features do not fit, which [`Members::new`] rules out.
    pub fn of_members(members: Members) -> Result<Self, RankerError> {
        let metadata = members.metadata();
        Self::new(Normalizer::unfitted(members.features()), Model::Members(members), metadata)
    }
}

fn queries_of(data: &RankingDataset) -> impl Iterator<Item = Range<usize>> {
    (0..data.queries()).map(|query| data.range(query))
}

/// Returns mean and population deviation of the scores of a query. The deviation is 0 if the largest score equals
/// the smallest, which a rounded mean might miss.
fn moments(scores: &[f32]) -> (f64, f64) {
    let count = scores.len() as f64;
    let mean = scores.iter().map(|&score| f64::from(score)).sum::<f64>() / count;
    if scores.iter().all(|score| *score == scores[0]) {
        return (mean, 0.0);
    }
    let squares = scores.iter().map(|&score| (f64::from(score) - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

#[cfg(test)]
mod tests;
