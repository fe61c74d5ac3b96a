//! `Model` is a fitted model that turns normalized features into scores.

use std::cmp::Reverse;
use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};

use super::kernel_expansion::KernelExpansion;
use super::members::Members;
use super::tree_ensemble::TreeEnsemble;
use crate::data::RankingDataset;
use crate::data::padding::{Padding, groups};
#[cfg(feature = "learners")]
use crate::data::shards::own;
use crate::memory::product;
use crate::refusal::Refusal;
use crate::scorer::{Scorer, ScorerConfig};

/// A fitted model that turns normalized features into scores.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Model {
    /// A burn module.
    Scorer(Scorer),
    /// A sum of regression trees.
    Trees(TreeEnsemble),
    /// Several scorers with their weights; a document's score is the weighted sum of their scores.
    Ensemble(Vec<(f64, Scorer)>),
    /// A weighted sum of Gaussian kernels.
    Kernel(KernelExpansion),
    /// Several rankers with normalizers of their own; a document's score is the weighted mean of their standardized
    /// scores.
    Members(Members),
}

impl Model {
    /// Returns the number of features of a document.
    pub fn features(&self) -> usize {
        match self {
            Model::Scorer(scorer) => scorer.features(),
            Model::Trees(trees) => trees.feature_count(),
            Model::Ensemble(members) => members.first().map_or(0, |(_, scorer)| scorer.features()),
            Model::Kernel(expansion) => expansion.feature_count,
            Model::Members(members) => members.features(),
        }
    }

    /// Returns what the model is, as messages say it.
    pub fn in_words(&self) -> &'static str {
        match self {
            Model::Scorer(Scorer::Linear(_)) => "a linear ranker",
            Model::Scorer(Scorer::Mlp(_)) => "a multi-layer perceptron",
            Model::Scorer(Scorer::Attention(_)) => "a self-attention ranker",
            Model::Scorer(Scorer::LatentCross(_)) => "a latent cross of a perceptron and self-attention",
            Model::Trees(_) => "a sum of trees",
            Model::Ensemble(_) => "a sum of scorers",
            Model::Kernel(_) => "a sum of kernels",
            Model::Members(_) => "an ensemble of members",
        }
    }

    /// Returns whether the model accepts missing values (NaN), as trees do, and members that all do. Other models
    /// return NaN if a value is missing.
    pub fn takes_missing(&self) -> bool {
        match self {
            Model::Trees(_) => true,
            Model::Members(members) => members.members().iter().all(|member| member.ranker.takes_missing()),
            _ => false,
        }
    }

    /// For models that score each list as a whole, checks that memory suffices to score the longest list. For members,
    /// checks that memory suffices for the copy of the data that each one normalizes.
    ///
    /// # Errors
    /// Returns [`Refusal`] if more memory is needed than is free.
    pub(crate) fn ask_memory(&self, data: &RankingDataset) -> Result<(), Refusal> {
        let scorer = match self {
            Model::Scorer(scorer) => Some(scorer),
            Model::Ensemble(members) => members.first().map(|(_, scorer)| scorer),
            Model::Members(members) => {
                return members.members().iter().try_for_each(|member| {
                    member.ranker.normalizer().ask_memory(data)?;
                    member.ranker.model().ask_memory(data)
                });
            }
            Model::Trees(_) | Model::Kernel(_) => None,
        };
        let Some(config) = scorer.map(Scorer::config).filter(ScorerConfig::sees_lists) else { return Ok(()) };
        let longest = data.longest_query();
        let what = format!("scoring a list of {longest} documents");
        let advice = "leave out longer lists, or train a scorer with fewer and narrower layers";
        Refusal::ask_memory("scorer", what, config.bytes_in_use([1, longest]), advice)
    }

    /// Returns one score per document, in the order of the data. Lists may have any length, because they are scored in
    /// batches of bounded size.
    ///
    /// # Panics
    /// Panics if the (normalized) data do not have as many features as the model;
    /// [`Ranker::predict`](super::Ranker::predict) checks this.
    pub fn predict(&self, data: &RankingDataset, device: &Device) -> Vec<f32> {
        assert_eq!(data.feature_count, self.features(), "feature counts of the data and of the model");
        match self {
            Model::Scorer(scorer) => scorer_scores(scorer, data, device),
            Model::Trees(trees) => trees.scores_of(data).into_iter().map(|score| score as f32).collect(),
            Model::Ensemble(members) => {
                let mut sums = vec![0.0; data.documents()];
                for (weight, scorer) in members {
                    let added = scorer_scores(scorer, data, device);
                    sums.iter_mut().zip(added).for_each(|(sum, score)| *sum += weight * f64::from(score));
                }
                sums.into_iter().map(|sum| sum as f32).collect()
            }
            Model::Kernel(expansion) => {
                expansion.scores(data.features.to_slice()).into_iter().map(|score| score as f32).collect()
            }
            Model::Members(members) => members.scores(data, |model, data| model.predict(data, device)),
        }
    }
}

/// Scores data like [`Model::predict`], and divides the work among the group that the data are shared with.
#[cfg(feature = "learners")]
pub fn predict_together(model: &Model, data: &RankingDataset, device: &Device) -> Vec<f32> {
    match model {
        Model::Scorer(scorer) if data.group().count() > 1 => {
            let scorer = scorer.clone().to_device(device);
            Prepared::new(data, &scorer, device).scores(&scorer)
        }
        Model::Trees(trees) => trees.scores_together(data).into_iter().map(|score| score as f32).collect(),
        Model::Members(members) => members.scores(data, |model, data| predict_together(model, data, device)),
        _ => model.predict(data, device),
    }
}

/// Scores data with a scorer that is first copied to the device.
fn scorer_scores(scorer: &Scorer, data: &RankingDataset, device: &Device) -> Vec<f32> {
    let scorer = scorer.clone().to_device(device);
    scores(&scorer, data, put(chunks(data, &scorer).concat(), data, device))
}

/// The maximum number of feature values that stay on the device between two predictions (64 MiB).
#[cfg(feature = "learners")]
const KEPT: usize = 1 << 24;

/// Data that are prepared for repeated scoring. Each process of the data's group scores only some of the chunks. If the
/// data were split into shards, a process scores the chunks of the shards that it works on. Chunks stay on the device
/// until they hold [`KEPT`] feature values. Later chunks are sent to the device for each prediction, so large data are
/// not held twice.
#[cfg(feature = "learners")]
pub(crate) struct Prepared<'a> {
    data: &'a RankingDataset,
    device: Device,
    kept: Vec<Chunk>,
    others: Vec<Padding>,
    /// The chunks of the whole group, in order; empty if there is only one process.
    all: Vec<Padding>,
}

#[cfg(feature = "learners")]
impl<'a> Prepared<'a> {
    /// Splits normalized data into chunks for a type of scorer. Keeps as many chunks on the device as [`KEPT`] allows.
    pub(crate) fn new(data: &'a RankingDataset, scorer: &Scorer, device: &Device) -> Self {
        let mut room = KEPT;
        let mut kept = Vec::new();
        let mut pieces = chunks(data, scorer);
        if let [_] = &pieces[..] {
            pieces = pieces.concat().into_iter().map(|chunk| vec![chunk]).collect();
        }
        let own = pieces[own(pieces.len(), data.group())].concat();
        let all = if data.group().count() == 1 { Vec::new() } else { pieces.concat() };
        let mut others = own.into_iter().peekable();
        while let Some(padding) = others.next_if(|padding| {
            let [rows, width] = padding.shape();
            let values = rows * width * data.feature_count;
            let fits = values <= room;
            room = room.saturating_sub(values);
            fits
        }) {
            kept.push(Chunk::new(padding, data, device));
        }
        Self { data, device: device.clone(), kept, others: others.collect(), all }
    }

    /// Returns one score per document, in the order of the data.
    pub(crate) fn scores(&self, scorer: &Scorer) -> Vec<f32> {
        let others = put(self.others.clone(), self.data, &self.device);
        let mut scores = scores(scorer, self.data, self.kept.iter().cloned().chain(others));
        if self.data.group().count() > 1 {
            let own = self.kept.iter().map(|chunk| &chunk.padding).chain(&self.others);
            let own = own.flat_map(Padding::documents).map(|document| scores[document].into()).collect();
            let all = self.data.group().gather_numbers(own);
            for (document, score) in self.all.iter().flat_map(Padding::documents).zip(all) {
                scores[document] = score as f32;
            }
        }
        scores
    }
}

fn scores(scorer: &Scorer, data: &RankingDataset, chunks: impl Iterator<Item = Chunk>) -> Vec<f32> {
    let mut scores = vec![0.0; data.documents()];
    for Chunk { padding, features, mask } in chunks {
        padding.scatter(scorer.forward_clean(features, mask), &mut scores);
    }
    scores
}

/// Documents that the scorer scores together, padded to a tensor on the device.
#[derive(Debug, Clone)]
struct Chunk {
    padding: Padding,
    /// `[rows, width, features]`
    features: Tensor<3>,
    /// `[rows, width]`
    mask: Tensor<2, Bool>,
}

impl Chunk {
    fn new(padding: Padding, data: &RankingDataset, device: &Device) -> Self {
        let features = Tensor::from_data(padding.gather_features(&data.features, data.feature_count), device);
        Self { features, mask: padding.mask(device), padding }
    }
}

/// Moves chunks to the device, each one when it is needed. While one chunk is on the device, the rows of the next one
/// are read from the file.
fn put(chunks: Vec<Padding>, data: &RankingDataset, device: &Device) -> impl Iterator<Item = Chunk> {
    let mut chunks = chunks.into_iter().peekable();
    std::iter::from_fn(move || {
        let padding = chunks.next()?;
        if let Some(next) = chunks.peek() {
            next.read_ahead(&data.features);
        }
        Some(Chunk::new(padding, data, device))
    })
}

/// The largest number of documents in a chunk, including padding. This limit bounds the memory of the layers.
const CELLS: usize = 1 << 15;
/// The maximum memory, in bytes, that the layers may need to score a chunk. Chunks are therefore smaller for wide
/// layers.
const BYTES: u64 = 1 << 30;
/// The maximum number of document pairs in a chunk, which limits the memory for attention.
const PAIRS: usize = 1 << 22;

/// Splits each part of the data into chunks for a scorer. Attention needs whole lists, so its chunks combine lists of
/// similar length. Other scorers need no padding, because they can score any documents together.
fn chunks(data: &RankingDataset, scorer: &Scorer) -> Vec<Vec<Padding>> {
    let bytes = scorer.config().bytes_in_use([1, 1]).saturating_add(product([data.feature_count, size_of::<f32>()]));
    let cells = (BYTES / bytes.max(1)).clamp(1, CELLS as u64) as usize;
    let of_part = |queries: Range<usize>| match scorer {
        Scorer::Attention(_) | Scorer::LatentCross(_) => list_chunks(data, queries),
        Scorer::Linear(_) | Scorer::Mlp(_) => document_chunks(data, queries, cells),
    };
    data.parts().map(of_part).collect()
}

fn document_chunks(data: &RankingDataset, queries: Range<usize>, cells: usize) -> Vec<Padding> {
    let bound = |query: usize| data.offsets.get(query).copied().unwrap_or(0);
    let end = bound(queries.end);
    let starts = (bound(queries.start)..end).step_by(cells);
    starts.map(|start| Padding::new(vec![Range { start, end: end.min(start + cells) }])).collect()
}

fn list_chunks(data: &RankingDataset, queries: Range<usize>) -> Vec<Padding> {
    let length = |query: usize| data.range(query).len();
    let mut queries: Vec<usize> = queries.filter(|&query| length(query) > 0).collect();
    queries.sort_by_key(|&query| (Reverse(length(query)), query));
    let has_room = |chunk: &[usize], _| {
        let (rows, width) = (chunk.len() + 1, length(chunk[0]));
        rows * width <= CELLS && rows * width * width <= PAIRS
    };
    groups(queries, has_room).iter().map(|chunk| Padding::from_queries(data, chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::{AttentionScorerConfig, LatentCrossScorerConfig, LinearScorerConfig, MlpScorerConfig};

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
    fn wide_layers_make_chunks_smaller() {
        let data = data(&[1, CELLS, 3, 70]);
        let device = Device::flex();
        let sizes = |neurons: usize| -> Vec<usize> {
            let config = MlpScorerConfig { hidden: vec![neurons], ..MlpScorerConfig::default() };
            let scorer = ScorerConfig::Mlp(config).init(2, 5, &device).unwrap();
            chunks(&data, &scorer).concat().iter().map(|chunk| chunk.shape().iter().product()).collect()
        };
        assert_eq!(sizes(64), [CELLS, 74]);
        let wide = sizes(100_000);
        assert!(wide.iter().all(|&size| size * 100_000 * 8 <= 1 << 30), "{wide:?}");
        assert_eq!(wide.iter().sum::<usize>(), data.documents());
    }

    #[cfg(feature = "learners")]
    #[test]
    fn processes_share_the_chunks() {
        let data = data(&[1, CELLS, 3, 70, CELLS / 2, CELLS]);
        let device = Device::flex();
        let scorer = ScorerConfig::Linear(LinearScorerConfig::default()).init(2, 5, &device).unwrap();
        let expected = Model::Scorer(scorer.clone()).predict(&data, &device);
        for count in 1..4 {
            let scores = crate::distributed::testing::in_processes(count, |group| {
                let mut data = data.clone();
                data.share_with(group);
                Prepared::new(&data, &scorer, &device).scores(&scorer)
            });
            assert!(scores.iter().all(|scores| *scores == expected), "{count} processes");
        }
    }

    #[test]
    fn attention_scores_a_list_alone_as_among_others() {
        let lengths = [3, 0, 7, 1, 5];
        let data = data(&lengths);
        let device = Device::flex();
        for config in [
            ScorerConfig::Attention(AttentionScorerConfig { width: 8, blocks: 1, ..Default::default() }),
            ScorerConfig::LatentCross(LatentCrossScorerConfig { width: 8, blocks: 1, ..Default::default() }),
        ] {
            let model = Model::Scorer(config.init(2, 5, &device).unwrap());
            let together = model.predict(&data, &device);
            for q in 0..lengths.len() {
                let range = data.range(q);
                let alone = RankingDataset {
                    features: data.features.to_slice()[range.start * 2..range.end * 2].to_vec().into(),
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
}
