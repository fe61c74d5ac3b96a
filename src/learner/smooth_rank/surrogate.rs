//! The sum of a surrogate's losses over the queries of a dataset, with its derivative by the score of each document.

use burn::tensor::{Bool, DType, Device, Tensor, TensorData};

use crate::data::{Batcher, BatcherConfig, DataError, Dataset};
use crate::loss::{RankingLoss, Reduction};

/// Padded places of one batch.
const CELLS: usize = 1 << 14;

struct Batch {
    labels: Tensor<2>,
    mask: Tensor<2, Bool>,
    /// First document and number of documents of each row.
    rows: Vec<(usize, usize)>,
    width: usize,
}

/// Queries that are padded once and scored many times.
pub(super) struct Lists {
    batches: Vec<Batch>,
    device: Device,
}

impl Lists {
    /// Pads the queries of `data` in batches by length, on the training side of `device`.
    pub(super) fn new(data: &Dataset, device: &Device) -> Result<Self, DataError> {
        let device = device.clone().autodiff();
        let batch = |queries: Vec<usize>| {
            let rows: Vec<(usize, usize)> =
                queries.iter().map(|&query| (data.range(query).start, data.range(query).len())).collect();
            let width = rows.iter().map(|row| row.1).max().unwrap_or(0);
            let labels = padded(&rows, width, |document| f64::from(data.labels[document]));
            let mask = padded(&rows, width, |_| 1.0);
            let tensor = |values| matrix(values, [rows.len(), width], &device);
            Batch { labels: tensor(labels), mask: tensor(mask).greater_elem(0.5), rows, width }
        };
        let plan = Batcher::new(data, &BatcherConfig::in_order(CELLS), 0)?.epoch(0);
        Ok(Self { batches: plan.into_iter().map(batch).collect(), device })
    }

    /// The sum of the losses, and its derivative by each of `scores` (one a document).
    pub(super) fn loss_and_slopes(&self, loss: &dyn RankingLoss, scores: &[f64]) -> (f64, Vec<f64>) {
        let mut total = 0.0;
        let mut slopes = vec![0.0; scores.len()];
        for batch in &self.batches {
            let shape = [batch.rows.len(), batch.width];
            let values = padded(&batch.rows, batch.width, |document| scores[document]);
            let leaf = matrix(values, shape, &self.device).require_grad();
            let output = loss.forward(leaf.clone(), batch.labels.clone(), batch.mask.clone(), Reduction::Sum);
            total += output.to_data().iter::<f64>().sum::<f64>();
            if let Some(gradient) = leaf.grad(&output.backward()) {
                let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
                for (row, &(first, length)) in gradient.chunks_exact(batch.width).zip(&batch.rows) {
                    slopes[first..first + length].copy_from_slice(&row[..length]);
                }
            }
        }
        (total, slopes)
    }
}

fn matrix(values: Vec<f64>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), (device, DType::F64))
}

/// `value` of each document in rows of `width`, 0 at padding.
fn padded(rows: &[(usize, usize)], width: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut values = vec![0.0; rows.len() * width];
    for (row, &(first, length)) in values.chunks_exact_mut(width.max(1)).zip(rows) {
        row.iter_mut().zip(first..first + length).for_each(|(place, document)| *place = value(document));
    }
    values
}
