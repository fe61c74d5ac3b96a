//! `Model`: what turns normalised features into scores.

use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor, TensorData};

use super::{KernelExpansion, TreeEnsemble};
use crate::data::RankingDataset;
use crate::scorer::Scorer;

/// A fitted model: what turns normalised features into scores.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Model {
    /// A burn module.
    Scorer(Scorer),
    /// A sum of regression trees.
    Trees(TreeEnsemble),
    /// A weighted sum of burn modules.
    Ensemble(Vec<(f64, Scorer)>),
    /// A weighted sum of Gaussian kernels.
    Kernel(KernelExpansion),
}

impl Model {
    /// Number of features of a document.
    pub fn features(&self) -> usize {
        match self {
            Model::Scorer(scorer) => scorer.features(),
            Model::Trees(trees) => trees.feature_count(),
            Model::Ensemble(members) => members.first().map_or(0, |(_, scorer)| scorer.features()),
            Model::Kernel(expansion) => expansion.feature_count(),
        }
    }

    /// One score a document, in the order of the data. Lists may have any length: they are scored in batches of bounded
    /// size.
    ///
    /// # Panics
    /// When the (normalised) data have other than [`features`](Self::features) features;
    /// [`Ranker::predict`](super::Ranker::predict) checks it.
    pub fn predict(&self, data: &RankingDataset, device: &Device) -> Vec<f32> {
        assert_eq!(data.feature_count, self.features(), "feature counts of the data and of the model");
        match self {
            Model::Scorer(scorer) => scorer_scores(scorer, data, device),
            Model::Trees(trees) => trees.scores(&data.features).into_iter().map(|score| score as f32).collect(),
            Model::Ensemble(members) => {
                let mut sums = vec![0.0; data.documents()];
                for (weight, scorer) in members {
                    let added = scorer_scores(scorer, data, device);
                    sums.iter_mut().zip(added).for_each(|(sum, score)| *sum += weight * f64::from(score));
                }
                sums.into_iter().map(|sum| sum as f32).collect()
            }
            Model::Kernel(expansion) => {
                expansion.scores(&data.features).into_iter().map(|score| score as f32).collect()
            }
        }
    }
}

/// Scores of a scorer, brought to the device.
fn scorer_scores(scorer: &Scorer, data: &RankingDataset, device: &Device) -> Vec<f32> {
    let scorer = scorer.clone().to_device(device);
    score(&scorer, data, chunks(data, &scorer).into_iter().map(|chunk| chunk.with_inputs(data, device)))
}

/// Data that are scored again and again, kept on the device.
#[cfg(feature = "learners")]
pub(crate) struct Prepared<'a> {
    data: &'a RankingDataset,
    chunks: Vec<(Chunk, Inputs)>,
}

type Inputs = (Tensor<3>, Tensor<2, Bool>);

#[cfg(feature = "learners")]
impl<'a> Prepared<'a> {
    /// Puts (normalised) data on a device, for scorers of the kind given.
    pub(crate) fn new(data: &'a RankingDataset, scorer: &Scorer, device: &Device) -> Self {
        let chunks = chunks(data, scorer).into_iter().map(|chunk| chunk.with_inputs(data, device)).collect();
        Self { data, chunks }
    }

    /// The data.
    pub(crate) fn data(&self) -> &'a RankingDataset {
        self.data
    }

    /// One score a document, in the order of the data.
    pub(crate) fn scores(&self, scorer: &Scorer) -> Vec<f32> {
        score(scorer, self.data, self.chunks.iter().cloned())
    }
}

fn score(scorer: &Scorer, data: &RankingDataset, chunks: impl Iterator<Item = (Chunk, Inputs)>) -> Vec<f32> {
    let mut scores = vec![0.0; data.documents()];
    for (chunk, (features, mask)) in chunks {
        chunk.scatter(scorer.forward_clean(features, mask), &mut scores);
    }
    scores
}

/// Places of a chunk in all: bounds the memory of the widest layer.
const CELLS: usize = 1 << 15;
/// Pairs of documents of a chunk in all: bounds the memory of attention.
const PAIRS: usize = 1 << 22;

/// Lists that are scored together: rows of `width` places, each holding the documents from `start` on.
#[derive(Debug, Clone)]
struct Chunk {
    width: usize,
    /// First document and number of documents of each row.
    rows: Vec<(usize, usize)>,
}

/// The chunks in which a scorer meets data: whole lists of like length for attention; else any documents, so that
/// nothing is padded.
fn chunks(data: &RankingDataset, scorer: &Scorer) -> Vec<Chunk> {
    match scorer {
        Scorer::Attention(_) => list_chunks(data),
        Scorer::Linear(_) | Scorer::Mlp(_) => (0..data.documents())
            .step_by(CELLS)
            .map(|start| {
                let width = CELLS.min(data.documents() - start);
                Chunk { width, rows: vec![(start, width)] }
            })
            .collect(),
    }
}

fn list_chunks(data: &RankingDataset) -> Vec<Chunk> {
    let mut rows: Vec<(usize, usize)> =
        (0..data.queries()).map(|q| data.range(q)).map(|range| (range.start, range.len())).collect();
    rows.retain(|&(_, length)| length > 0);
    rows.sort_by_key(|&(start, length)| (std::cmp::Reverse(length), start));
    let mut chunks: Vec<Chunk> = Vec::new();
    for row in rows {
        match chunks.last_mut() {
            Some(chunk) if chunk.has_room() => chunk.rows.push(row),
            _ => chunks.push(Chunk { width: row.1, rows: vec![row] }),
        }
    }
    chunks
}

impl Chunk {
    fn has_room(&self) -> bool {
        let rows = self.rows.len() + 1;
        rows * self.width <= CELLS && rows * self.width * self.width <= PAIRS
    }

    /// Features and mask on the device; padded features are 0.
    ///
    /// # Shapes
    /// - features: `[rows, width, features]`
    /// - mask: `[rows, width]`
    fn with_inputs(self, data: &RankingDataset, device: &Device) -> (Self, Inputs) {
        let count = data.feature_count;
        let mut features = Vec::with_capacity(self.rows.len() * self.width * count);
        let mut mask = Vec::with_capacity(self.rows.len() * self.width);
        for (row, &(start, length)) in self.rows.iter().enumerate() {
            features.extend_from_slice(&data.features[start * count..(start + length) * count]);
            features.resize((row + 1) * self.width * count, 0.0);
            mask.resize(row * self.width + length, true);
            mask.resize((row + 1) * self.width, false);
        }
        let shape = [self.rows.len(), self.width];
        let features = Tensor::from_data(TensorData::new(features, [shape[0], shape[1], count]), device);
        (self, (features, Tensor::from_data(TensorData::new(mask, shape), device)))
    }

    /// Writes the scores `[rows, width]` of the documents to their places in `out`, one place a document of the data.
    fn scatter(&self, scores: Tensor<2>, out: &mut [f32]) {
        let data = scores.into_data();
        let scores: Vec<f32> = data.iter::<f32>().collect();
        for (row, &(start, length)) in self.rows.iter().enumerate() {
            out[start..start + length].copy_from_slice(&scores[row * self.width..row * self.width + length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::{AttentionScorerConfig, LinearScorerConfig, ScorerConfig};

    fn data(lengths: &[usize]) -> RankingDataset {
        let mut offsets = vec![0];
        offsets.extend(lengths.iter().scan(0, |end, n| {
            *end += n;
            Some(*end)
        }));
        let documents = *offsets.last().unwrap();
        RankingDataset {
            features: (0..documents * 2).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect(),
            feature_count: 2,
            labels: vec![0.0; documents],
            query_ids: (0..lengths.len()).map(|q| q.to_string()).collect(),
            offsets,
            ..RankingDataset::default()
        }
    }

    #[test]
    fn linear_scores_of_many_chunks_are_the_products() {
        let data = data(&[1, CELLS, 3, 70]);
        let device = Device::flex();
        let scorer = LinearScorerConfig::default();
        let Scorer::Linear(scorer) = ScorerConfig::Linear(scorer).init(2, 5, &device).unwrap() else { unreachable!() };
        let (weights, _) = scorer.weights();
        let scores = Model::Scorer(Scorer::Linear(scorer)).predict(&data, &device);
        assert_eq!(scores.len(), data.documents());
        for (document, score) in scores.iter().enumerate() {
            let row = data.row(document);
            let expected = weights[0] * row[0] + weights[1] * row[1];
            assert!((score - expected).abs() < 1e-6, "document {document}");
        }
    }

    #[test]
    fn attention_scores_a_list_alone_as_among_others() {
        let lengths = [3, 0, 7, 1, 5];
        let data = data(&lengths);
        let device = Device::flex();
        let config = AttentionScorerConfig { width: 8, heads: 2, blocks: 1, feed_forward: 8, dropout: 0.0 };
        let model = Model::Scorer(ScorerConfig::Attention(config).init(2, 5, &device).unwrap());
        let together = model.predict(&data, &device);
        for q in 0..lengths.len() {
            let range = data.range(q);
            let alone = RankingDataset {
                features: data.features[range.start * 2..range.end * 2].to_vec(),
                feature_count: 2,
                labels: vec![0.0; range.len()],
                offsets: vec![0, range.len()],
                query_ids: vec!["q".into()],
                ..RankingDataset::default()
            };
            for (one, among) in model.predict(&alone, &device).iter().zip(&together[range]) {
                assert!((one - among).abs() < 1e-5);
            }
        }
    }
}
