//! Lists every learner once, by name. The command line, the configuration files and the documentation all use this
//! list.

use crate::json::{Map, Value};

pub use super::entry::LearnerEntry;
use super::entry::{Parts, RankingLearner};
use super::error::LearnerError;
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

/// The key that selects the learner, as written in the `[learner]` table and in messages.
const KIND: &str = "kind";
const KEY: &str = "learner.kind";

/// Builds the learner described by a `[learner]` table, given the loss and the scorer of the configuration.
///
/// # Errors
/// [`LearnerError`] if `kind` or a key is unknown, or if a value is out of range. The error is also returned if the
/// loss or the scorer is missing, or if one is given that the learner does not read.
pub fn build(table: &Map, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
    let mut params = table.clone();
    let kind = match params.swap_remove(KIND) {
        Some(Value::String(kind)) => kind,
        Some(other) => return Err(Refusal::new(KEY, other, "the name of a learner").into()),
        None => {
            return Err(
                Refusal::fault(KEY, "missing; expected the name of a learner, such as kind = \"gradient\"").into()
            );
        }
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
    entry.build(&params, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
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
                let expected = format!("the training {what} have weights, which this learner does not take; {others}");
                assert_eq!(message, format!("{}: {expected}", entry.name));
            }
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
                    "{}: feature 2 of document 2 of query `1` in the {set} data is missing, which this learner does not \
                     take; `boosted_trees` does, and `missing` = \"indicator\" fills it",
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
