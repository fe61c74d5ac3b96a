//! Factors of the positions at which documents were shown.
//!
//! Users click less on what is shown further down. An additive model of that is `s = f(x) + b[p]`: in training, the
//! loss sees the score of the ranker plus the factor of the document's position. After training, a score has no factor,
//! as in LightGBM and in additive two-tower models.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::checks::{not_negative, parameter};
use super::context::{Job, PositionFactor};
use crate::data::{Positions, RankingDataset};
use crate::json::tagged;
use crate::learner::error::Result;
use crate::refusal::Refusal;
use crate::text::counted;

tagged! {
    "PositionConfig"
    /// How training explains labels by the position of a document, chosen by the key `kind`.
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum PositionConfig {
        /// Adds a factor to the score of a document, one factor for each position.
        Additive {
            /// A penalty on squared factors, half of which is added to the loss for each training document, 0 or above.
            /// Default: 0.
            #[serde(default)]
            l2: f64,
        },
    }
}

impl PositionConfig {
    pub(crate) fn check(&self) -> Result<()> {
        not_negative("position.l2", self.l2())
    }

    /// Returns the penalty on squared factors.
    pub(crate) fn l2(&self) -> f64 {
        let Self::Additive { l2 } = *self;
        l2
    }
}

/// Returns the factors in the order of their positions, given one value for each name. Positions that are whole numbers
/// come first, in their order.
pub(crate) fn factors(positions: &Positions, values: &[f64]) -> Vec<PositionFactor> {
    let named = positions.names().iter().cloned().zip(positions.counts()).zip(values.iter().copied());
    let all = named.map(|((position, documents), factor)| PositionFactor { position, documents, factor });
    let mut found: Vec<PositionFactor> = all.filter(|factor| factor.documents > 0).collect();
    let number = |factor: &PositionFactor| factor.position.parse::<i64>().ok();
    found.sort_by_key(|factor| (number(factor).is_none(), number(factor), factor.position.clone()));
    found
}

/// The share of documents that must have been shown at two or more positions. Below it, the fit warns.
const FEWEST_MOVED: f64 = 0.01;

/// Rejects factors of positions that the training data do not have. Warns if positions cannot be told from relevance.
pub(crate) fn check_positions(config: Option<&PositionConfig>, job: Job) -> Result<()> {
    if config.is_none() {
        return Ok(());
    }
    let positions = &job.train.positions;
    if positions.is_empty() {
        let expected = "positions: `data.columns.position`, a file TRAIN.position next to TRAIN, or `with_positions`";
        return Err(Refusal::described("learner.position", "training data without positions", expected).into());
    }
    if let [only] = positions.names() {
        return Err(parameter("position", format!("one position, `{only}`"), "at least two positions"));
    }
    if let Some((documents, moved)) = moved(job.train)
        && (moved as f64) < FEWEST_MOVED * documents as f64
    {
        job.warn(&format!(
            "{moved} of {} {} shown at two or more positions: factors of positions may take what belongs to relevance",
            counted(documents, "training document"),
            if moved == 1 { "was" } else { "were" },
        ));
    }
    Ok(())
}

/// Returns how many different documents there are, and how many of them were shown at two or more positions. Documents
/// with the same features count as one. Returns `None` if features are streamed.
fn moved(data: &RankingDataset) -> Option<(usize, usize)> {
    if data.features.window().is_some() || data.feature_count == 0 {
        return None;
    }
    let (mut first, mut moved) = (HashMap::new(), HashSet::new());
    for (document, &position) in data.positions.of_documents().iter().enumerate() {
        // A hash takes the place of the row, of which this would be a copy in memory.
        let mut hasher = DefaultHasher::new();
        data.row(document).iter().for_each(|value| value.to_bits().hash(&mut hasher));
        let row = hasher.finish();
        if *first.entry(row).or_insert(position) != position {
            moved.insert(row);
        }
    }
    Some((first.len(), moved.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::{self, Warnings};

    fn three(names: [&str; 3]) -> RankingDataset {
        let data = RankingDataset::builder().features(vec![1.0, 2.0, 1.0], 1).labels(vec![0.0, 1.0, 1.0]);
        data.query_sizes(&[2, 1]).build().unwrap().with_positions(Positions::new(names)).unwrap()
    }

    #[test]
    fn documents_of_the_same_features_are_one() {
        assert_eq!(moved(&three(["1", "2", "1"])), Some((2, 0)));
        assert_eq!(moved(&three(["1", "2", "3"])), Some((2, 1)));
    }

    #[test]
    fn factors_are_in_the_order_of_their_numbers() {
        let positions = Positions::new(["10", "top", "9", "10"]);
        let found = factors(&positions, &[0.5, 1.5, -0.5]);
        let found: Vec<_> = found.iter().map(|f| (f.position.as_str(), f.documents, f.factor)).collect();
        assert_eq!(found, [("9", 1, -0.5), ("10", 2, 0.5), ("top", 1, 1.5)]);
    }

    #[test]
    fn positions_are_needed_and_should_vary() {
        let warnings = Warnings::default();
        let mut context = testing::context(None);
        context.progress = &warnings;
        let check = |data: &RankingDataset| {
            let config = PositionConfig::Additive { l2: 0.0 };
            check_positions(Some(&config), Job::new(data, None, &context)).map_err(|error| error.to_string())
        };
        let none = check(&three(["1", "2", "1"]).without_weights()).unwrap_err();
        assert_eq!(
            none,
            "learner.position: found training data without positions, expected positions: `data.columns.position`, a \
             file TRAIN.position next to TRAIN, or `with_positions`"
        );
        let one = check(&three(["1", "1", "1"])).unwrap_err();
        assert_eq!(one, "learner.position = one position, `1`: expected at least two positions");
        check(&three(["1", "2", "3"])).unwrap();
        assert_eq!(warnings.text(), "");
        check(&three(["1", "2", "1"])).unwrap();
        assert_eq!(
            warnings.text(),
            "0 of 2 training documents were shown at two or more positions: factors of positions may take what belongs \
             to relevance"
        );
    }
}
