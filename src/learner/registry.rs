//! The registry, which lists every learner. The command line, the configuration files and the documentation use it.

use super::entry::{LearnerEntry, Parts, RankingLearner};
use super::error::LearnerError;
use crate::json::{Map, Value};
use crate::refusal::Refusal;

/// All registered learners, ordered by name.
pub static LEARNERS: &[LearnerEntry] = &[
    super::ada_rank::ENTRY,
    super::boosted_trees::ENTRY,
    super::gradient::ENTRY,
    super::permu_rank::ENTRY,
    super::rank_boost::ENTRY,
    super::rank_svm::ENTRY,
    super::regression::ENTRY,
    super::smooth_rank::ENTRY,
    super::svm_map::ENTRY,
];

/// The key that selects the learner, as written in messages.
const KEY: &str = "learner.kind";

/// Builds the learner described by a `[learner]` table, given the loss and the scorer of the configuration.
///
/// # Errors
/// [`LearnerError`] if `kind` or a key is unknown, or if a value is out of range. The error is also returned if the
/// loss or the scorer is missing, or if one is given that the learner does not read.
pub fn build(table: &Map, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
    let mut params = table.clone();
    let missing = || Refusal::fault(KEY, "missing; expected the name of a learner, such as kind = \"gradient\"");
    let kind = match params.swap_remove("kind").ok_or_else(missing)? {
        Value::String(kind) => kind,
        other => return Err(Refusal::new(KEY, other, "the name of a learner").into()),
    };
    let entry = LEARNERS.iter().find(|entry| entry.name == kind).ok_or_else(|| {
        let names: Vec<&str> = LEARNERS.iter().map(|entry| entry.name).collect();
        let expected = format!("one of {}", names.join(", "));
        Refusal::unknown(KEY, "learner", &kind, names, expected)
    })?;
    for (section, given, read) in
        [("loss", parts.loss.is_some(), entry.takes_loss), ("scorer", parts.scorer.is_some(), entry.takes_scorer)]
    {
        if given && !read {
            let fault = format!("`{kind}` does not read the section [{section}]; remove it");
            return Err(Refusal::fault(KEY, fault).into());
        }
    }
    if !entry.takes_positions && params.contains_key("position") {
        let others = LEARNERS.iter().filter(|entry| entry.takes_positions).map(|entry| format!("`{}`", entry.name));
        let others = others.collect::<Vec<String>>().join(" and ");
        let expected = format!("none: the learner `{kind}` does not use positions; {others} do");
        return Err(Refusal::described("learner.position", "a table", expected).into());
    }
    entry.build(&params, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RankingDataset;
    use crate::learner::{FitContext, Job, testing};
    use crate::loss::LossSpec;

    fn refused(table: Value, loss: Option<LossSpec>) -> String {
        let parts = Parts { loss: loss.map(Into::into), scorer: None };
        build(table.as_object().unwrap(), &parts).unwrap_err().to_string()
    }

    #[test]
    fn names_are_unique_and_defaults_build() {
        for (i, entry) in LEARNERS.iter().enumerate() {
            assert!(LEARNERS[..i].iter().all(|other| other.name != entry.name), "{}", entry.name);
            let loss = LossSpec::new("approx_ndcg").into();
            let parts = Parts { loss: entry.takes_loss.then_some(loss), scorer: None };
            let learner = entry.build(&entry.defaults(), &parts).unwrap();
            assert_eq!(learner.name(), entry.name);
        }
    }

    /// Returns a learner with its defaults, and a context for its fit.
    fn to_fit(entry: &LearnerEntry) -> (Box<dyn RankingLearner>, FitContext<'static>) {
        let loss = LossSpec::new("smooth_ndcg").into();
        let parts = Parts { loss: entry.takes_loss.then_some(loss), scorer: None };
        let learner = entry.build(&Map::new(), &parts).unwrap();
        let mut context = testing::context(None);
        context.selection.measure = crate::measure::Measure::Ndcg(Some(5));
        (learner, context)
    }

    #[test]
    fn weights_are_taken_or_refused_by_name() {
        let data = testing::random(12, 6, 3, 1);
        let some = |count: usize| (1..=count).map(|weight| weight as f32).collect::<Vec<f32>>();
        let of_queries = data.clone().with_query_weights(some(data.queries())).unwrap();
        let of_documents = data.clone().with_document_weights(some(data.documents())).unwrap();
        for entry in LEARNERS {
            let (learner, context) = to_fit(entry);
            let kinds = [
                ("queries", &of_queries, entry.takes_query_weights, "`gradient` does"),
                ("documents", &of_documents, entry.takes_document_weights, "`boosted_trees` and `gradient` do"),
            ];
            for (what, data, takes, others) in kinds {
                if takes {
                    assert!(learner.fit(Job::new(data, None, &context)).is_ok(), "{}: {what}", entry.name);
                    continue;
                }
                let message = learner.fit(Job::new(data, None, &context)).unwrap_err().to_string();
                let expected = format!("the training {what} have weights, which this learner does not use; {others}");
                assert_eq!(message, format!("{}: {expected}", entry.name));
            }
        }
    }

    #[test]
    fn positions_are_taken_or_refused_by_name() {
        let data = testing::random(12, 6, 3, 1);
        let names = (0..data.documents()).map(|document| (document % 5).to_string());
        let data = data.with_positions(crate::data::Positions::new(names)).unwrap();
        for entry in LEARNERS {
            let (learner, context) = to_fit(entry);
            let loss = entry.takes_loss.then(|| LossSpec::new("lambda_ndcg"));
            let table = crate::json::json!({"kind": entry.name, "position": {"kind": "additive"}});
            if entry.takes_positions {
                let parts = Parts { loss: loss.map(Into::into), scorer: None };
                let with = build(table.as_object().unwrap(), &parts).unwrap();
                let fitted = with.fit(Job::new(&data, None, &context)).unwrap();
                assert_eq!(fitted.positions.iter().map(|found| found.documents).sum::<usize>(), data.documents());
                assert!(fitted.positions.iter().all(|found| found.factor.is_finite() && found.factor != 0.0));
                // Without the key, positions change nothing.
                let plain = |data: &RankingDataset| {
                    let fitted = learner.fit(Job::new(data, None, &context)).unwrap();
                    (fitted.model.predict(data, &context.device), fitted.positions)
                };
                assert_eq!(plain(&data), plain(&data.clone().without_weights()));
                continue;
            }
            let message = learner.fit(Job::new(&data, None, &context)).unwrap_err().to_string();
            let expected = "the training data have positions, which this learner does not take; `boosted_trees` and \
                            `gradient` do";
            assert_eq!(message, format!("{}: {expected}", entry.name));
            let expected = format!(
                "learner.position: found a table, expected none: the learner `{}` does not use positions; \
                 `boosted_trees` and `gradient` do",
                entry.name
            );
            assert_eq!(refused(table, loss), expected);
        }
    }

    #[test]
    fn missing_values_are_taken_or_refused_with_their_place() {
        let whole = testing::random(12, 6, 3, 1);
        let mut data = whole.clone();
        data.features.to_mut_slice()[3 * 7 + 1] = f32::NAN;
        for entry in LEARNERS {
            let (learner, context) = to_fit(entry);
            for (train, validation, set) in [(&data, None, "training"), (&whole, Some(&data), "validation")] {
                let fitted = learner.fit(Job::new(train, validation, &context));
                if entry.takes_missing {
                    assert!(fitted.is_ok_and(|fitted| fitted.model.takes_missing()), "{}", entry.name);
                    continue;
                }
                let expected = format!(
                    "{}: feature 2 of document 2 of query `1` in the {set} data is missing, which this learner does \
                     not accept; `boosted_trees` does, and `missing` = \"indicator\" fills it",
                    entry.name
                );
                assert_eq!(fitted.unwrap_err().to_string(), expected);
            }
        }
    }

    #[test]
    fn unknown_kinds_and_keys_are_refused_with_the_nearest() {
        let message = refused(crate::json::json!({"kind": "ada_rnk"}), None);
        assert!(message.contains("did you mean `ada_rank`?"), "{message}");
        let message = refused(crate::json::json!({"kind": "regression", "lamda": 1}), None);
        assert!(message.starts_with("learner.lamda: unknown field"), "{message}");
        assert!(message.contains("did you mean `lambda`?"), "{message}");
    }

    #[test]
    fn a_section_that_would_not_be_read_is_refused() {
        let message = refused(crate::json::json!({"kind": "regression"}), Some(LossSpec::new("list_net")));
        assert!(message.contains("does not read the section [loss]"), "{message}");
    }
}
