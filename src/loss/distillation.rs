//! A loss of labels and a loss of a teacher's scores, added.
//!
//! The loss of a query is `l(s, y) + weight * d(s, t)`: a loss `l` of the labels `y`, and a loss `d` that reads the
//! teacher's scores `t` ([`Lists::with_teacher`]) as its labels. A part that has nothing to learn from a query is 0.
//! Documents without a teacher's score are left out of the second part.
//!
//! Teachers differ in the size of their scores. With [`TeacherScale::Query`], the scores of each query are standardized
//! and multiplied by `factor`: `t` becomes `factor (t - mean) / deviation` over the documents that have a score, with
//! the population's deviation, or 0 where all scores are equal.
//!
//! The cost is the sum of the costs of both losses.

use std::sync::Arc;

use burn::tensor::Bool;
use serde::{Deserialize, Serialize};

use super::prelude::*;
use crate::measure::{deviation_of, mean_of};

/// The scale of a teacher's scores when a loss reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeacherScale {
    /// The scores as they are.
    #[default]
    None,
    /// The scores of each query, standardized and multiplied by [`DistillationConfig::factor`].
    Query,
}

/// Configuration of [`Distillation`].
///
/// ```
/// use burn_rank::loss::{DistillationConfig, LambdaNdcgConfig, RankingLoss, TeacherKlConfig, TeacherScale};
///
/// let config = DistillationConfig::new().with_weight(0.5).with_scale(TeacherScale::Query).with_factor(2.0);
/// let loss = config.init(LambdaNdcgConfig::new().init()?, TeacherKlConfig::new().init()?)?;
/// assert!(loss.about().needs_teacher);
/// # Ok::<(), burn_rank::loss::LossError>(())
/// ```
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct DistillationConfig {
    /// The weight of the teacher's loss, 0 or above.
    #[config(default = 1.0)]
    pub weight: f64,
    /// The scale of the teacher's scores when the loss reads them.
    #[config(default = "TeacherScale::None")]
    pub scale: TeacherScale,
    /// The deviation of standardized scores, above 0; only for [`TeacherScale::Query`].
    #[config(default = 1.0)]
    pub factor: f64,
}

impl DistillationConfig {
    /// Joins a loss of labels and a loss of a teacher's scores.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, if `factor` is given without [`TeacherScale::Query`], if the
    /// teacher's loss does not accept any finite number as a label, or if the loss of labels has a teacher's loss too.
    pub fn init(
        &self,
        labels: impl RankingLoss + 'static,
        teacher: impl RankingLoss + 'static,
    ) -> Result<Distillation, LossError> {
        self.join(Arc::new(labels), Arc::new(teacher))
    }

    pub(super) fn join(
        &self,
        labels: Arc<dyn RankingLoss>,
        teacher: Arc<dyn RankingLoss>,
    ) -> Result<Distillation, LossError> {
        let (name, about) = (labels.about().name, teacher.about());
        if labels.about().needs_teacher {
            let expected = "no second loss of a teacher: a sum of losses can be the one";
            return Err(LossError::parameter(name, "teacher.name", format!("{:?}", about.name), expected));
        }
        if about.gain.is_some() || about.needs_teacher {
            let expected = "a loss that reads any number, such as `teacher_kl`, `list_net`, `margin_mse` or `rank_net`";
            return Err(LossError::parameter(name, "teacher.name", format!("{:?}", about.name), expected));
        }
        let weight = error::not_negative(name, "teacher.weight", self.weight)?;
        let factor = error::positive(name, "teacher.factor", self.factor)?;
        if self.scale == TeacherScale::None && factor != 1.0 {
            return Err(LossError::parameter(name, "teacher.factor", factor, "`scale = \"query\"` with it"));
        }
        Ok(Distillation { labels, teacher, weight, scale: self.scale, factor })
    }
}

/// A loss of labels plus a weight times a loss of a teacher's scores.
#[derive(Debug, Clone)]
pub struct Distillation {
    labels: Arc<dyn RankingLoss>,
    teacher: Arc<dyn RankingLoss>,
    weight: f64,
    scale: TeacherScale,
    factor: f64,
}

impl Distillation {
    /// Returns the lists that the teacher's loss reads, or `None` if it adds nothing.
    fn taught(&self, lists: &Lists) -> Option<Lists> {
        let taught = lists.taught().filter(|_| self.weight > 0.0)?;
        if self.scale == TeacherScale::None {
            return Some(taught);
        }
        let count = one_in_place_of_zero(taught.counts());
        let mean = sum_documents(taught.labels.clone()) / count.clone();
        let centered = (taught.labels.clone() - mean.unsqueeze_dim(1)) * taught.mask.clone();
        let equal = taught.has_two_labels().bool_not();
        // In units of the largest, squares do not underflow.
        let largest = centered.clone().abs().max_dim(1).mask_fill(equal.clone().unsqueeze_dim(1), 1.0);
        let centered = centered / largest;
        let deviation = (sum_documents(centered.clone().powi_scalar(2)) / count).sqrt().mask_fill(equal.clone(), 1.0);
        let factor = (deviation.recip() * self.factor).mask_fill(equal, 0.0);
        Some(Lists { labels: centered * factor.unsqueeze_dim(1), ..taught })
    }

    /// Scales the teacher's scores of one query, in which NaN stands for no score.
    fn scaled(&self, teacher: &[f32]) -> Vec<f32> {
        if self.scale == TeacherScale::None {
            return teacher.to_vec();
        }
        let scores = || teacher.iter().copied().filter(|score| !score.is_nan()).map(f64::from);
        let (mean, deviation) = (mean_of(scores()).unwrap_or_default(), deviation_of(scores()));
        let factor = if deviation > 0.0 { self.factor / deviation } else { 0.0 };
        teacher.iter().map(|&score| ((f64::from(score) - mean) * factor) as f32).collect()
    }
}

impl RankingLoss for Distillation {
    fn about(&self) -> About<'_> {
        let (mut own, teacher) = (self.labels.about(), self.teacher.about());
        let name = own.name;
        // Learners that compare values name unit gradients before anything else that is constant.
        if teacher.held_constant == Some(UNIT_GRADIENTS[0]) && own.held_constant != teacher.held_constant {
            own.held_constant = Some(UNIT_GRADIENTS[1]);
        }
        About {
            reads_teacher: own.reads_teacher,
            needs_teacher: true,
            mixes_teacher: false,
            document_weights: own.document_weights.and(
                teacher.document_weights.map_err(|_| "the loss of its teacher is not defined for weighted documents"),
            ),
            smoothing: own.smoothing,
            curvature: own.curvature.and(teacher.curvature).map(|_| self as &dyn Curved),
            ..own.plus(teacher, name)
        }
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let own = Lists { teacher: None, ..lists.clone() }.losses(&*self.labels);
        match self.taught(lists) {
            Some(taught) => own + taught.losses(&*self.teacher) * self.weight,
            None => own,
        }
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        let own = self.labels.learnable(lists);
        match self.taught(lists) {
            Some(taught) => own.bool_or(self.teacher.learnable(&taught)),
            None => own,
        }
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        let labels = self.labels.changed(change)?;
        let teacher = match change {
            Change::Parameter(..) => None,
            _ => self.teacher.changed(change)?,
        };
        // A gradient is full only if each part that holds something constant differentiates it.
        let holds = |part: &dyn RankingLoss| part.about().held_constant.is_some();
        let is_partial = labels.is_none() && holds(&*self.labels) || teacher.is_none() && holds(&*self.teacher);
        if labels.is_none() && teacher.is_none() || matches!(change, Change::FullGradient) && is_partial {
            return Ok(None);
        }
        let labels = labels.map_or_else(|| self.labels.clone(), Arc::from);
        let teacher = teacher.map_or_else(|| self.teacher.clone(), Arc::from);
        Ok(Some(Box::new(Self { labels, teacher, ..self.clone() })))
    }
}

impl Curved for Distillation {
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        self.labels.about().curvature.expect("`curvature` is none without").derivatives(labels, scores, weights)
    }

    fn taught(&self, labels: &[f32], teacher: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        let mut sum = self.derivatives(labels, scores, weights);
        let curved = self.teacher.about().curvature.expect("`curvature` is none without");
        let mut part = curved.taught(labels, &self.scaled(teacher), scores, weights);
        part.multiply(self.weight);
        sum.loss += part.loss;
        sum.gradient.iter_mut().zip(part.gradient).for_each(|(sum, part)| *sum += part);
        sum.curvature.iter_mut().zip(part.curvature).for_each(|(sum, part)| *sum += part);
        sum
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::loss::Reduction;
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::json::{Value, json};
    use crate::loss::{LambdaNdcgConfig, ListNetConfig, LossSpec, TeacherKlConfig, TeacherMseConfig, explain_taught};

    const SCORES: [f64; 4] = [0.5, -1.0, 2.0, 0.25];
    const LABELS: [f64; 4] = [1.0, 0.0, 0.0, 2.0];
    const TEACHER: [f64; 4] = [3.0, f64::NAN, -1.0, 4.0];

    fn value(spec: &LossSpec, scores: &[f64], labels: &[f64], teacher: Option<&[f64]>) -> f64 {
        explain_taught(&*spec.build().unwrap(), scores, labels, teacher, DType::F64, &Device::flex()).unwrap().loss
    }

    fn spec(name: &str, teacher: Value) -> LossSpec {
        LossSpec::new(name).with("teacher", teacher)
    }

    #[test]
    fn parts_are_added_over_the_documents_with_a_score() {
        let own = value(&LossSpec::new("lambda_ndcg"), &SCORES, &LABELS, None);
        let part = |t: &[f64]| value(&LossSpec::new("teacher_kl"), &[0.5, 2.0, 0.25], t, None);
        let both = spec("lambda_ndcg", json!({"name": "teacher_kl", "weight": 0.5}));
        let found = value(&both, &SCORES, &LABELS, Some(&TEACHER));
        assert!((found - (own + 0.5 * part(&[3.0, -1.0, 4.0]))).abs() < 1e-12, "{found}");
        // Mean 2 and deviation sqrt(14 / 3).
        let scaled = [1.0, -3.0, 2.0].map(|t: f64| 2.0 * t / (14f64 / 3.0).sqrt());
        let teacher = json!({"name": "teacher_kl", "weight": 0.5, "scale": "query", "factor": 2.0});
        let found = value(&spec("lambda_ndcg", teacher), &SCORES, &LABELS, Some(&TEACHER));
        assert!((found - (own + 0.5 * part(&scaled))).abs() < 1e-12, "{found}");
    }

    #[test]
    fn the_constructor_builds_what_a_file_describes() {
        let config = DistillationConfig::new().with_weight(0.25).with_scale(TeacherScale::Query);
        let typed = config.init(LambdaNdcgConfig::new().init().unwrap(), ListNetConfig::new().init().unwrap()).unwrap();
        let named = spec("lambda_ndcg", json!({"name": "list_net", "weight": 0.25, "scale": "query"})).build().unwrap();
        assert_eq!(format!("{typed:?}"), format!("{named:?}"));
    }

    #[test]
    fn a_part_with_nothing_to_learn_is_zero() {
        let both = spec("lambda_ndcg", json!({"name": "teacher_kl"}));
        let equal = [1.0; 4];
        let own = value(&LossSpec::new("lambda_ndcg"), &SCORES, &LABELS, None);
        assert_eq!(value(&both, &SCORES, &LABELS, Some(&equal)), own);
        assert!(value(&both, &SCORES, &equal, Some(&TEACHER)) > 0.0, "labels alone are equal");
        let teacher = json!({"name": "teacher_mse", "scale": "query"});
        let zeros = value(&spec("lambda_ndcg", teacher), &SCORES, &equal, Some(&[5.0; 4]));
        let expected = SCORES.iter().map(|score| score * score).sum::<f64>() / 4.0;
        assert!((zeros - expected).abs() < 1e-12, "{zeros}");
        let none = spec("lambda_ndcg", json!({"name": "teacher_kl", "weight": 0.0})).build().unwrap();
        let explained = explain_taught(&*none, &SCORES, &equal, Some(&TEACHER), DType::F64, &Device::flex()).unwrap();
        assert!(!explained.learnable);
    }

    /// A sum around a loss with a teacher.
    #[derive(Debug)]
    struct Twice(Distillation);

    impl RankingLoss for Twice {
        fn about(&self) -> About<'_> {
            self.0.about().plus(self.0.about(), "twice")
        }

        fn query_losses(&self, lists: &Lists) -> Tensor<1> {
            lists.losses(&self.0) + lists.losses(&self.0)
        }

        fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
            self.0.learnable(lists)
        }
    }

    #[test]
    fn a_sum_around_it_reads_labels_and_teacher() {
        let labels = LambdaNdcgConfig::new().init().unwrap();
        let loss = DistillationConfig::new().init(labels, TeacherKlConfig::new().init().unwrap()).unwrap();
        let value = |loss: &dyn RankingLoss| {
            explain_taught(loss, &SCORES, &LABELS, Some(&TEACHER), DType::F64, &Device::flex()).unwrap().loss
        };
        assert!((value(&Twice(loss.clone())) - 2.0 * value(&loss)).abs() < 1e-12);
        let twice = Twice(loss.clone());
        assert_eq!((twice.about().name, twice.about().held_constant), ("twice", loss.about().held_constant));
        assert!(twice.about().needs_teacher && loss.about().held_constant.is_some());
    }

    #[test]
    fn a_loss_that_has_a_teacher_gets_no_second_one() {
        let labels = || LambdaNdcgConfig::new().init().unwrap();
        let teacher = || TeacherKlConfig::new().init().unwrap();
        let inner = DistillationConfig::new().init(labels(), teacher()).unwrap();
        let expected = "expected no second loss of a teacher: a sum of losses can be the one";
        assert_eq!(
            DistillationConfig::new().init(inner.clone(), teacher()).unwrap_err().to_string(),
            format!("lambda_ndcg.teacher.name = \"teacher_kl\": {expected}")
        );
        assert!(DistillationConfig::new().init(Twice(inner), teacher()).unwrap_err().to_string().ends_with(expected));
    }

    /// Squares of scores this small are 0 in 32 bits.
    #[test]
    fn a_teacher_with_tiny_differences_is_scaled() {
        let loss = spec("lambda_ndcg", json!({"name": "teacher_mse", "scale": "query"})).build().unwrap();
        let of = |factor: f64, dtype| {
            let teacher = TEACHER.map(|score| factor * score);
            explain_taught(&*loss, &SCORES, &LABELS, Some(&teacher), dtype, &Device::flex()).unwrap().loss
        };
        assert!((of(1e-25, DType::F32) - of(1.0, DType::F64)).abs() < 1e-5);
    }

    #[test]
    fn query_gradients_are_inherited_unless_the_part_has_its_own() {
        let unit = |teacher: Value| spec("rank_net", teacher).with("query_gradients", "unit").build().unwrap();
        let debug = |loss: Box<dyn RankingLoss>| format!("{loss:?}").matches("UnitGradients").count();
        assert_eq!(debug(unit(json!({"name": "list_net"}))), 2);
        assert_eq!(debug(unit(json!({"name": "list_net", "query_gradients": "raw"}))), 1);
        let resolved = unit(json!({"name": "list_net"}));
        assert_eq!(resolved.about().held_constant, Some("the length of each query's gradient"));
        assert!(resolved.changed(Change::FullGradient).unwrap().is_none());
    }

    #[test]
    fn second_derivatives_are_added_alike() {
        let (labels, scores) = (LABELS.map(|label| label as f32), SCORES);
        let teacher = TEACHER.map(|score| score as f32);
        for part in ["teacher_kl", "teacher_mse", "margin_mse", "rank_net"] {
            for gradients in ["raw", "unit"] {
                let table = json!({"name": part, "weight": 0.5, "scale": "query"});
                let loss = spec("lambda_ndcg", table).with("query_gradients", gradients).build().unwrap();
                let found = loss.about().curvature.unwrap().taught(&labels, &teacher, &scores, None);
                let exact =
                    explain_taught(&*loss, &scores, &LABELS, Some(&TEACHER), DType::F64, &Device::flex()).unwrap();
                assert!((found.loss - exact.loss).abs() < 1e-6, "{part}");
                for (found, exact) in found.gradient.iter().zip(&exact.grad) {
                    assert!((found - exact).abs() < 1e-6, "{part}, {gradients}: {found} {exact}");
                }
                let own = LossSpec::new("lambda_ndcg").with("query_gradients", gradients).build().unwrap();
                let of_teacher = LossSpec::new(part).with("query_gradients", gradients).build().unwrap();
                let own = own.about().curvature.unwrap().derivatives(&labels, &scores, None);
                // Mean 2 and deviation sqrt(14 / 3).
                let scaled = teacher.map(|score| ((f64::from(score) - 2.0) / (14f64 / 3.0).sqrt()) as f32);
                let of_teacher = of_teacher.about().curvature.unwrap().taught(&labels, &scaled, &scores, None);
                for (document, found) in found.curvature.iter().enumerate() {
                    let expected = own.curvature[document] + 0.5 * of_teacher.curvature[document];
                    assert!(
                        (found - expected).abs() < 1e-6 && *found >= 0.0,
                        "{part}, {gradients}: {found} {expected}"
                    );
                }
            }
        }
        assert!(spec("lambda_ndcg", json!({"name": "list_net"})).build().unwrap().about().curvature.is_none());
    }

    #[test]
    fn what_no_teacher_can_teach_is_refused() {
        let message = |teacher: Value| spec("lambda_ndcg", teacher).build().unwrap_err().to_string();
        assert_eq!(
            message(json!({"name": "list_net", "weight": -1.0})),
            "lambda_ndcg.teacher.weight = -1: expected a finite number, 0 or above"
        );
        assert!(
            message(json!({"name": "approx_ndcg"}))
                .contains("teacher.name = \"approx_ndcg\": expected a loss that reads")
        );
        assert!(message(json!({"name": "list_nte"})).contains("did you mean `list_net`?"));
        assert!(message(json!({"weight": 1.0})).contains("name"));
        assert!(message(json!({"name": "list_net", "factor": 2.0})).contains("teacher.factor = 2: expected `scale"));
        assert!(message(json!("list_net")).contains("expected a table with the `name` of a loss"));
        assert!(message(json!({"name": "teacher_kl", "temperatur": 2.0})).contains("did you mean `temperature`?"));
    }

    #[test]
    fn lists_without_a_teacher_are_refused_where_input_is_checked() {
        let both = spec("list_net", json!({"name": "teacher_mse"})).build().unwrap();
        let tensor = |values: &[f64]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), [1, 4]), &Device::flex());
        let lists = Lists::padded(tensor(&SCORES), tensor(&LABELS), tensor(&[1.0; 4]).greater_elem(0.0));
        let refused = both.try_forward(&lists, Reduction::Mean).unwrap_err();
        assert_eq!(refused, LossError::NoTeacher { loss: "list_net" });
        let infinite = lists.clone().with_teacher(tensor(&[1.0, f64::INFINITY, 0.0, 0.0]));
        let refused = both.try_forward(&infinite, Reduction::Mean).unwrap_err();
        assert!(matches!(refused, LossError::Label { query: 0, document: 1, .. }), "{refused}");
        assert!(refused.to_string().starts_with("query 1, document 2: teacher's score inf"), "{refused}");
        assert!(both.try_forward(&lists.with_teacher(tensor(&SCORES)), Reduction::Mean).is_ok());
        assert!(TeacherMseConfig::new().init().unwrap().about().reads_teacher);
    }
}
