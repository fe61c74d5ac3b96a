//! Computes the sum of a loss over the queries of a dataset, and its derivative with respect to the score of each
//! document. The labels of the queries are padded once, and the loss can then be computed for any scores. Each process
//! of the data's group computes some of the batches.

use burn::tensor::{Bool, DType, Device, Tensor};

use crate::data::batch::{BatchPlannerConfig, Keep};
use crate::data::padding::Padding;
use crate::data::shards::own;
use crate::data::{BatchPlanner, DataError, RankingDataset};
use crate::distributed::ProcessGroup;
use crate::loss::{Lists, RankingLoss};

/// The maximum number of document positions in one batch, including padding.
pub(crate) const CELLS: usize = 1 << 14;

/// The padded queries of a dataset, for which a loss can be computed at any scores.
pub(crate) struct FlatLoss {
    /// The batches that this process computes.
    batches: Vec<Batch>,
    /// How the batches of the whole group are padded; empty if there is only one process.
    all: Vec<Padding>,
    dtype: DType,
    device: Device,
    group: ProcessGroup,
}

impl FlatLoss {
    /// Groups the queries that `keep` selects into batches by similar length, and pads each batch. Losses are computed
    /// in the number type `dtype`.
    pub(crate) fn new(data: &RankingDataset, keep: Keep, dtype: DType, device: &Device) -> Result<Self, DataError> {
        let plan = BatchPlanner::with(data, &BatchPlannerConfig { keep, ..BatchPlannerConfig::in_order(CELLS) }, 0)?;
        let plan = plan.epoch(0);
        let group = data.group().clone();
        let own = &plan[own(plan.len(), &group)];
        let batches = own.iter().map(|queries| Batch::new(data, queries, dtype, device)).collect();
        let exchanged = if group.count() > 1 { &plan[..] } else { &[] };
        let all = exchanged.iter().map(|queries| Padding::from_queries(data, queries)).collect();
        Ok(Self { batches, all, dtype, device: device.clone(), group })
    }

    /// Returns the number of lists and of documents in each batch of this process.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.batches.iter().map(|batch| batch.labels.dims().into())
    }

    /// Returns the sum of the losses, given the score of each document.
    pub(crate) fn value(&self, loss: &dyn RankingLoss, scores: &[f64]) -> f64 {
        let sum = |batch: &Batch| number(&batch.loss(loss, batch.scores(scores, self.dtype, &self.device)));
        self.group.gather_numbers(self.batches.iter().map(sum).collect()).into_iter().sum()
    }

    /// Returns the sum of the losses and its derivative with respect to each score, given the score of each document.
    pub(crate) fn value_and_gradient(&self, loss: &dyn RankingLoss, scores: &[f64]) -> (f64, Vec<f64>) {
        let device = self.device.clone().autodiff();
        let mut gradient = vec![0.0; scores.len()];
        let mut losses = Vec::with_capacity(self.batches.len());
        for batch in &self.batches {
            let leaf = batch.scores(scores, self.dtype, &device).require_grad();
            let output = batch.loss(loss, leaf.clone());
            losses.push(number(&output));
            // The scores have no gradient if the loss depends only on other learned values.
            let Some(found) = leaf.grad(&output.backward()) else { continue };
            batch.padding.scatter(found, &mut gradient);
        }
        let total = self.group.gather_numbers(losses).into_iter().sum();
        if self.group.count() > 1 {
            let own = self.batches.iter().flat_map(|batch| batch.padding.documents());
            let slopes = self.group.gather_numbers(own.map(|document| gradient[document]).collect());
            let documents = self.all.iter().flat_map(Padding::documents);
            documents.zip(slopes).for_each(|(document, slope)| gradient[document] = slope);
        }
        (total, gradient)
    }
}

/// The labels of several queries, padded to the same length.
struct Batch {
    padding: Padding,
    labels: Tensor<2>,
    mask: Tensor<2, Bool>,
    /// The weight of each document, if documents have weights.
    weights: Option<Tensor<2>>,
    /// The scores of a teacher, and which documents have one.
    teacher: Option<(Tensor<2>, Tensor<2, Bool>)>,
}

impl Batch {
    fn new(data: &RankingDataset, queries: &[usize], dtype: DType, device: &Device) -> Self {
        let padding = Padding::from_queries(data, queries);
        let labels = Tensor::from_data(padding.gather(&data.labels), (device, dtype));
        let weights = (!data.document_weights.is_empty())
            .then(|| Tensor::from_data(padding.gather(&data.document_weights), (device, dtype)));
        let teacher = data
            .gather_teacher(&padding)
            .map(|[scores, has]| (Tensor::from_data(scores, (device, dtype)), Tensor::from_data(has, device)));
        Self { labels, mask: padding.mask(device), weights, teacher, padding }
    }

    /// Returns the padded scores of this batch's documents, `[queries, documents]`.
    fn scores(&self, scores: &[f64], dtype: DType, device: &Device) -> Tensor<2> {
        Tensor::from_data(self.padding.gather(scores), (device, dtype))
    }

    /// Returns the sum of the losses of the batch's queries on the device of the scores, `[1]`.
    fn loss(&self, loss: &dyn RankingLoss, scores: Tensor<2>) -> Tensor<1> {
        let device = scores.device();
        let (labels, mask) = (self.labels.clone().to_device(&device), self.mask.clone().to_device(&device));
        let mut lists = Lists::padded(scores, labels, mask);
        if let Some(weights) = &self.weights {
            lists = lists.with_document_weights(weights.clone().to_device(&device));
        }
        if let Some((scores, has)) = &self.teacher {
            lists = lists.with_teacher_where(scores.clone().to_device(&device), has.clone().to_device(&device));
        }
        lists.losses(loss).sum()
    }
}

fn number(loss: &Tensor<1>) -> f64 {
    loss.to_data().iter::<f64>().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;
    use crate::loss::{LossSpec, explain};

    fn data() -> RankingDataset {
        let row: &[f32] = &[0.0];
        let (long, short) = ([(2.0, row), (0.0, row), (1.0, row)], [(0.0, row), (1.0, row)]);
        dataset(1, &[&long, &[(1.0, row), (1.0, row)], &short])
    }

    const SCORES: [f64; 7] = [0.5, 1.25, -0.25, 3.0, 1.0, -1.5, 0.0];

    #[test]
    fn value_and_gradient_are_those_of_each_query_alone() {
        let data = data();
        for name in ["approx_ndcg", "list_net"] {
            let loss = LossSpec::new(name).build().unwrap();
            for keep in [Keep::All, Keep::TwoLabels] {
                let flat = FlatLoss::new(&data, keep, DType::F64, &Device::flex()).unwrap();
                let (value, gradient) = flat.value_and_gradient(&*loss, &SCORES);
                assert!((flat.value(&*loss, &SCORES) - value).abs() < 1e-12);
                let mut sum = 0.0;
                for query in 0..data.queries() {
                    let range = data.range(query);
                    let labels: Vec<f64> = data.query_labels(query).iter().copied().map(f64::from).collect();
                    let alone = explain(&*loss, &SCORES[range.clone()], &labels, DType::F64).unwrap();
                    sum += alone.loss;
                    for (found, expected) in gradient[range].iter().zip(alone.grad) {
                        assert!((found - expected).abs() < 1e-12, "{name}, query {query}: {gradient:?}");
                    }
                }
                assert!((value - sum).abs() < 1e-12, "{name}: {value} {sum}");
            }
        }
    }
}
