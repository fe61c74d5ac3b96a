//! Checks the settings of learners and the training data.

use std::fmt::Display;

use burn::tensor::{DType, Device};

use super::context::{Job, Selection};
use super::judge::Judge;
use crate::data::RankingDataset;
use crate::device::in_host_memory;
use crate::learner::error::{LearnerError, Result};
use crate::loss::{About, LossError, RankingLoss, idle_queries};
use crate::measure::{Convention, Measure};
use crate::refusal::Refusal;
use crate::scorer::ScorerConfig;
use crate::text::{counted, plural};

/// Returns an error about the key `learner.<parameter>`.
pub(crate) fn parameter(parameter: &str, found: impl Display, expected: impl Display) -> LearnerError {
    Refusal::new(parameter, found, expected.to_string()).under("learner").into()
}

/// The maximum number of constant features that a warning lists.
const MOST_NAMED: usize = 20;

/// The expectation of learners that do not collect the statistics of batch norm.
pub(crate) const NO_STATISTICS: &str = "another: only `gradient` and `ada_rank` collect the statistics of batch norm";

/// Rejects batch norm. `expected` says what is possible instead.
pub(crate) fn without_batch_norm(scorer: &ScorerConfig, expected: impl Display) -> Result<()> {
    match scorer.changes_in_training() {
        Some((key @ "norm", found)) => Err(Refusal::new(format!("scorer.{key}"), found, expected.to_string()).into()),
        _ => Ok(()),
    }
}

/// Rejects a fit whose largest batch needs more memory than is free, before anything is allocated. Each batch is given
/// as `(lists, documents)`. `limit` is the setting to lower if memory is short.
pub(crate) fn ask_training(
    scorer: &ScorerConfig,
    job: Job,
    batches: impl IntoIterator<Item = (usize, usize)>,
    limit: &str,
) -> Result<()> {
    if !in_host_memory(&job.context.device) {
        return Ok(());
    }
    let bytes = |(lists, documents)| scorer.bytes_in_training(job.train.feature_count, [lists, documents]);
    let Some((lists, documents)) = batches.into_iter().max_by_key(|&shape| bytes(shape)) else { return Ok(()) };
    let what = format!("a step of training on {lists} x {documents} documents");
    let lists_are_whole = if scorer.sees_lists() { "; a list is never cut, so leave longer ones out" } else { "" };
    let advice = format!("lower {limit} or the layers of the scorer{lists_are_whole}");
    Ok(Refusal::ask_memory("scorer", what, bytes((lists, documents)), advice)?)
}

/// Rejects a loss whose arrays of document pairs do not fit into free memory. Each batch is given as `(lists,
/// documents)`.
pub(crate) fn ask_pairs(
    loss: &dyn RankingLoss,
    batches: impl IntoIterator<Item = (usize, usize)>,
    scores: DType,
    device: &Device,
) -> Result<()> {
    let largest = batches.into_iter().max_by_key(|(lists, documents)| lists * documents * documents);
    let Some((lists, documents)) = largest else { return Ok(()) };
    Ok(loss.about().check_memory(lists, documents, scores, device)?)
}

/// Returns an error about the key `learner.<name>`, unless its value fits.
pub(crate) fn require(name: &str, found: impl Display, fits: bool, expected: impl Display) -> Result<()> {
    if fits { Ok(()) } else { Err(parameter(name, found, expected)) }
}

/// Checks that a parameter is a finite number above 0.
pub(crate) fn positive(name: &str, value: f64) -> Result<()> {
    require(name, value, value > 0.0 && value.is_finite(), "a finite number above 0")
}

/// Checks that a parameter is a finite number of at least 0.
pub(crate) fn not_negative(name: &str, value: f64) -> Result<()> {
    require(name, value, value >= 0.0 && value.is_finite(), "a finite number, 0 or above")
}

/// Checks that a parameter is a fraction above 0 and at most 1.
pub(crate) fn share(name: &str, value: f64) -> Result<()> {
    require(name, value, value > 0.0 && value <= 1.0, "a number above 0, at most 1")
}

/// Checks that a parameter is a fraction of at least 0 and below 1.
pub(crate) fn rate(name: &str, value: f64) -> Result<()> {
    require(name, value, (0.0..1.0).contains(&value), "at least 0 and below 1")
}

/// Checks that a parameter is at least `least`, if it is set.
pub(crate) fn at_least(name: &str, value: impl Into<Option<usize>>, least: usize) -> Result<()> {
    let value = value.into().unwrap_or(least);
    require(name, value, value >= least, format_args!("at least {least}"))
}

/// Rejects training data in which no feature varies, and validation data with a different number of features. A
/// selection measure that the convention leaves undefined for every query is rejected too. Warns of constant features,
/// and of a selection measure that is the same for every ranking.
pub(crate) fn trainable(learner: &'static str, job: Job) -> Result<()> {
    let Job { train, validation, .. } = job;
    for (_, data) in job.sets() {
        data.check_values().map_err(|error| LearnerError::data(learner, error))?;
    }
    if let Some(validation) = validation.filter(|data| data.feature_count != train.feature_count) {
        let (own, features) = (counted(validation.feature_count, "feature"), train.feature_count);
        let advice = "read both with the same number of features";
        let reason = format!("validation data have {own}, training data {features}: {advice}");
        return Err(LearnerError::data(learner, reason));
    }
    check_features(learner, job)?;
    check_selection(learner, job)
}

/// Rejects training data if no query has documents with different labels.
pub(crate) fn two_labels(learner: &'static str, train: &RankingDataset) -> Result<()> {
    if (0..train.queries()).any(|query| train.has_two_labels(query)) {
        return Ok(());
    }
    let each = match train.queries() {
        1 => "the only training query".to_owned(),
        queries => format!("each of the {}", counted(queries, "training query")),
    };
    let advice = "check the label column and the query identifiers";
    let reason = format!("all labels are equal in {each}, so no order can be learned: {advice}");
    Err(LearnerError::data(learner, reason))
}

/// Rejects training data in which no feature varies, and warns of constant features.
fn check_features(learner: &'static str, job: Job) -> Result<()> {
    let train = job.train;
    let constant: Vec<String> = (0..)
        .zip(train.feature_ranges())
        .filter(|&(feature, (smallest, largest))| smallest == largest && !train.is_partly_missing(feature))
        .map(|(feature, _): (usize, _)| (feature + 1).to_string())
        .collect();
    if constant.len() == train.feature_count {
        let none = match train.feature_count {
            1 => "the only feature does not vary".to_owned(),
            features => format!("none of the {} varies", counted(features, "feature")),
        };
        let reason = format!("{none} in the training data: check the features and the normalizer");
        return Err(LearnerError::data(learner, reason));
    }
    if !constant.is_empty() {
        let (are, about) = match constant.len() {
            1 => ("is", "it; leave it out if it varies elsewhere"),
            _ => ("are", "them; leave them out if they vary elsewhere"),
        };
        let others = constant.len().saturating_sub(MOST_NAMED);
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        let named = constant[..constant.len().min(MOST_NAMED)].join(", ");
        let (count, of) = (constant.len(), counted(train.feature_count, "feature"));
        job.warn(&format!(
            "{learner}: {count} of {of} ({} {named}{others}) {are} constant in the training data, so nothing is learned \
             about {about}",
            plural(count, "number"),
        ));
    }
    Ok(())
}

/// Rejects a selection measure if the convention leaves out every query of the data on which the best round is
/// selected. Warns of a measure that is the same for every ranking.
fn check_selection(learner: &'static str, job: Job) -> Result<()> {
    let (set, data) = job.validation.map_or(("training", job.train), |data| ("validation", data));
    let judge = Judge::new(&job.context.selection)?;
    let (measure, convention) = (judge.measure, &job.context.selection.convention.name);
    let mean = |sign: f64| {
        let scores: Vec<f64> = data.labels.iter().map(|&label| sign * f64::from(label)).collect();
        judge.mean(data, &scores)
    };
    let (Some(worst), Some(best)) = (mean(-1.0)?, mean(1.0)?) else {
        let reason = format!(
            "the selection measure {measure} has no mean on the {set} data: convention `{convention}` leaves out every query, \
             since none has a relevant document"
        );
        return Err(LearnerError::data(learner, reason));
    };
    if worst == best {
        job.warn(&format!(
            "{learner}: the selection measure {measure} is {best} on the {set} data whatever the order, so the first round \
             is kept; check the labels, or set measure.select"
        ));
    }
    Ok(())
}

/// Rejects training or validation data with missing values, if the learner does not accept them.
pub(crate) fn complete(learner: &'static str, job: Job) -> Result<()> {
    for (set, data) in job.sets() {
        if let Some((document, feature)) = data.first_missing() {
            let (query, document) = data.place_of(document);
            let reason = format!(
                "feature {} of document {} of query `{query}` in the {set} data is missing, which this learner does \
                 not accept; `boosted_trees` does, and `missing` = \"indicator\" fills it",
                feature + 1,
                document + 1
            );
            return Err(LearnerError::data(learner, reason));
        }
    }
    Ok(())
}

/// Rejects training data with weights of queries or documents, a teacher or positions.
pub(crate) fn unweighted(learner: &'static str, train: &RankingDataset) -> Result<()> {
    of_equal_queries(learner, train)?;
    let both = "`boosted_trees` and `gradient` do";
    unless(train.teacher.is_empty(), learner, "data have a teacher, which this learner does not use", both)?;
    unless(train.positions.is_empty(), learner, "data have positions, which this learner does not take", both)?;
    let weights = "documents have weights, which this learner does not use";
    unless(train.document_weights.is_empty(), learner, weights, both)
}

/// Rejects training data in which queries have weights.
pub(crate) fn of_equal_queries(learner: &'static str, train: &RankingDataset) -> Result<()> {
    let weights = "queries have weights, which this learner does not use";
    unless(train.query_weights.is_empty(), learner, weights, "`gradient` does")
}

/// Rejects training data with something that only the `others` use. `is_absent` says that the data do not have it.
fn unless(is_absent: bool, learner: &'static str, fault: &str, others: &str) -> Result<()> {
    match is_absent {
        true => Ok(()),
        false => Err(LearnerError::data(learner, format_args!("the training {fault}; {others}"))),
    }
}

/// Returns whether a measure can have values outside `[0, 1]` under some convention.
fn leaves_unit_interval(measure: Measure) -> bool {
    match measure {
        Measure::Dcg(_) | Measure::KendallTau => true,
        Measure::Own(own) => !own.in_unit_interval(),
        _ => false,
    }
}

/// Rejects a measure that can have values outside `[0, 1]`. Also rejects the measure if one of `values` lies outside
/// this range.
pub(crate) fn in_unit_interval(measure: Measure, values: &[f64]) -> Result<()> {
    let outside = values.iter().find(|value| !(0.0..=1.0 + 1e-9).contains(*value));
    let seen = outside.map(|value| format!(" (a query has {value})")).unwrap_or_default();
    let expected = format_args!("a measure with values in [0, 1], such as ndcg@10 or map{seen}");
    require("measure", measure, outside.is_none() && !leaves_unit_interval(measure), expected)
}

/// Returns the measure to which a learner is fitted: its own, or else the selection measure, which must then have
/// values in `[0, 1]`.
pub(crate) fn fitted_measure(
    learner: &'static str,
    own: Option<Measure>,
    convention: Option<&Convention>,
    job: Job,
) -> Result<Selection> {
    let Selection { measure, convention: usual, .. } = &job.context.selection;
    if own.is_none() && leaves_unit_interval(*measure) {
        let reason = format!(
            "measure.select = {measure} is also what {learner} is fitted to: expected a measure with values in [0, 1], such as \
             ndcg@10 or map; set learner.measure to select by {measure} all the same"
        );
        return Err(LearnerError::data(learner, reason));
    }
    Ok(Selection { measure: own.unwrap_or(*measure), convention: convention.unwrap_or(usual).clone(), round: None })
}

/// Checks that a loss accepts the labels and the document weights. Warns about queries that contribute no gradient.
///
/// # Errors
/// [`LearnerError`] if the loss does not accept a label or rejects the document weights, or if no query contributes a
/// gradient.
pub(crate) fn learnable(learner: &'static str, loss: &dyn RankingLoss, job: Job) -> Result<()> {
    let (about, train) = (loss.about(), job.train);
    match about.check_labels(&train.labels, &train.offsets) {
        Err(LossError::Label { query, document, found, expected, .. }) => {
            let reason = format!(
                "query {}, document {}: label {found}, expected {expected} for {}",
                train.query_ids[query],
                document + 1,
                about.name
            );
            return Err(LearnerError::data(learner, reason));
        }
        other => other?,
    }
    if !train.document_weights.is_empty() {
        about.check_document_weights()?;
    }
    check_teacher(&about, job)?;
    let idle = idle_queries(loss, &train.labels, &train.teacher, &train.offsets)?.len();
    if idle == train.queries() {
        let why = match (0..train.queries()).any(|q| train.has_two_labels(q)) {
            true => "check the labels".to_owned(),
            false => train.one_label_in_words(),
        };
        let reason = format!("no training query has anything to learn for {}: {why}", about.name);
        return Err(LearnerError::data(learner, reason));
    }
    if idle > 0 {
        job.warn(&format!(
            "{learner}: {idle} of {} {} nothing to learn for {}",
            counted(train.queries(), "training query"),
            if idle == 1 { "has" } else { "have" },
            about.name
        ));
    }
    Ok(())
}

/// Rejects a loss of a teacher without a teacher, and a teacher that the loss does not read. Notes how many documents
/// the teacher has not scored.
fn check_teacher(about: &About<'_>, job: Job) -> Result<()> {
    let teacher = &job.train.teacher;
    if teacher.is_empty() && about.needs_teacher {
        let expected = "a teacher: `data.teacher`, `data.columns.teacher`, or `with_teacher` in Rust";
        return Err(Refusal::described("loss.teacher", "no teacher's scores in the training data", expected).into());
    }
    if !teacher.is_empty() && (about.mixes_teacher || !(about.needs_teacher || about.reads_teacher)) {
        let found = format!("the loss `{}`, which reads labels", about.name);
        let expected = "a section [loss.teacher] with the name of a loss, or a loss such as `teacher_kl`";
        return Err(Refusal::new("data.teacher", found, expected).into());
    }
    let without = teacher.iter().filter(|score| score.is_nan()).count();
    if without > 0 {
        job.warn(&format!(
            "the teacher has no score for {without} of {}; they are left out of what is learned from it",
            counted(teacher.len(), "training document")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;

    use super::*;
    use crate::learner::testing::{self, Warnings};
    use crate::loss::{Lists, LossSpec};

    #[test]
    fn errors_name_the_parameter_the_value_and_the_range() {
        assert_eq!(
            positive("lambda", 0.0).unwrap_err().to_string(),
            "learner.lambda = 0: expected a finite number above 0"
        );
        assert!(not_negative("gamma", f64::NAN).is_err() && not_negative("gamma", 0.0).is_ok());
        assert!(share("subsample", 1.5).is_err() && share("subsample", 1.0).is_ok());
        assert_eq!(at_least("rounds", 0, 1).unwrap_err().to_string(), "learner.rounds = 0: expected at least 1");
    }

    #[test]
    fn equal_labels_in_each_query_are_refused() {
        let mut data = testing::two_documents();
        assert!(two_labels("test", &data).is_ok());
        data.labels = vec![1.0, 1.0];
        let error = two_labels("test", &data).unwrap_err().to_string();
        assert!(error.starts_with("test: all labels are equal in the only training query, so no order"), "{error}");
    }

    #[test]
    fn validation_data_must_have_the_same_features() {
        let validation = testing::dataset(3, &[]);
        let error = trainable("test", Job::new(&testing::two_documents(), Some(&validation), &testing::context(None)));
        assert!(error.unwrap_err().to_string().contains("have 3 features, training data 2"));
    }

    #[test]
    fn constant_features_are_named_in_a_warning() {
        let warnings = Warnings::default();
        let data = testing::dataset(3, &[&[(0.0, &[0.0, 5.0, 1.0]), (1.0, &[1.0, 5.0, 1.0])]]);
        let mut context = testing::context(None);
        context.progress = &warnings;
        trainable("test", Job::new(&data, None, &context)).unwrap();
        let nothing = testing::dataset(1, &[&[(0.0, &[5.0]), (1.0, &[5.0])]]);
        let error = trainable("test", Job::new(&nothing, None, &context)).unwrap_err().to_string();
        assert_eq!(
            error,
            "test: the only feature does not vary in the training data: check the features and the normalizer"
        );
        assert!(warnings.text().contains("2 of 3 features (numbers 2, 3)"), "{}", warnings.text());
    }

    #[test]
    fn selection_needs_a_mean_that_depends_on_the_order() {
        let train = testing::two_documents();
        let with_labels = |labels: [f32; 2]| {
            let mut data = testing::two_documents();
            data.labels = labels.to_vec();
            data
        };
        let mut context = testing::context(None);
        context.selection.convention = crate::measure::Convention::default();
        let error =
            trainable("test", Job::new(&train, Some(&with_labels([0.0, 0.0])), &context)).unwrap_err().to_string();
        assert!(error.starts_with("test: the selection measure map has no mean on the validation data"), "{error}");
        let warnings = Warnings::default();
        context.progress = &warnings;
        trainable("test", Job::new(&train, Some(&with_labels([1.0, 2.0])), &context)).unwrap();
        assert!(warnings.text().contains("the selection measure map is 1 on the validation data whatever the order"));
    }

    /// A loss of labels added to one of labels and a teacher.
    #[derive(Debug)]
    struct Sum(Box<dyn RankingLoss>, Box<dyn RankingLoss>);

    impl RankingLoss for Sum {
        fn about(&self) -> About<'_> {
            self.0.about().plus(self.1.about(), "sum")
        }

        fn query_losses(&self, _: &Lists) -> Tensor<1> {
            unreachable!("it is refused before")
        }
    }

    #[test]
    fn a_sum_in_which_only_one_part_reads_the_teacher_is_refused() {
        let data = testing::two_documents().with_teacher(vec![0.5, -0.5]).unwrap();
        for spec in [
            LossSpec::new("teacher_kl"),
            LossSpec::new("list_net").with("teacher", crate::json::json!({"name": "teacher_kl"})),
        ] {
            let of = |labels: &str| {
                let loss = Sum(LossSpec::new(labels).build().unwrap(), spec.build().unwrap());
                learnable("test", &loss, Job::new(&data, None, &testing::context(None)))
            };
            let error = of("lambda_ndcg").unwrap_err().to_string();
            assert!(error.starts_with("data.teacher = the loss `sum`, which reads labels: expected"), "{error}");
            assert!(of("margin_mse").is_ok());
        }
    }

    #[test]
    fn a_loss_without_a_query_to_learn_from_is_refused() {
        let mut data = testing::two_documents();
        data.labels = vec![1.0, 2.0];
        let loss = LossSpec::new("approx_ap").build().unwrap();
        let error = learnable("test", &*loss, Job::new(&data, None, &testing::context(None))).unwrap_err().to_string();
        assert_eq!(error, "test: no training query has anything to learn for approx_ap: check the labels");
    }
}
