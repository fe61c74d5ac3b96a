//! Plans an epoch: which queries share a step, and in which parts the queries of a step are computed.
//!
//! The queries of a step depend only on the seed and the epoch. The lists of a step are sorted by length. They are
//! computed in several parts if a single part would need too much padding or memory. The gradients of the parts are
//! added, so the division into parts usually changes results only by rounding. With batch norm, dropout or a noisy
//! loss, the division changes more, because each part has its own statistics or random draws. If the data are divided
//! into shards, every step takes some queries of each shard, and divides the queries of each shard into parts.

use std::cell::OnceCell;
use std::ops::Range;

use burn::tensor::Device;

use super::config::GradientConfig;
use super::resident::Resident;
use crate::data::batch::{BatchPlannerConfig, Keep};
use crate::data::padding::groups;
use crate::data::shards::Shards;
use crate::data::windows::{Window, Windows};
use crate::data::{BatchPlanner, ByteSize, DataError, RankingBatch};
use crate::learner::prelude::*;

/// The length, as a share of the length of the part's longest list, below which a list starts a new part. Only a part
/// with at least [`ENOUGH`] padded places is ended in this way.
const SHORTER: f64 = 0.7;
/// The smallest size of a part, in padded places, for which starting another part saves more time than it costs.
const ENOUGH: usize = 4096;

/// Plans the optimizer steps of every epoch.
pub(super) struct Batches<'a> {
    pub(super) data: &'a RankingDataset,
    device: Device,
    /// The features on a device with its own memory, if they fit there.
    resident: Option<Resident>,
    batcher: BatchPlanner,
    cells: usize,
    /// The number of optimizer steps in an epoch.
    pub(super) per_epoch: usize,
    seed: u64,
    /// The division of the training queries into shards.
    pub(super) shards: Shards,
    /// The range of shards whose gradients this process computes.
    pub(super) own: Range<usize>,
    /// The parts of each shard, kept on the device, if every step uses all queries.
    whole: Vec<OnceCell<Vec<RankingBatch>>>,
    /// The windows in which streamed data are read, unless every step uses all queries.
    windows: Option<Windows>,
    queries: usize,
}

/// The optimizer steps of one epoch.
pub(super) struct Epoch {
    /// The queries of each step.
    pub(super) steps: Vec<Vec<usize>>,
    /// If data are streamed, the first step that uses each window, and the document ranges that this process reads for
    /// it.
    windows: Vec<(usize, Vec<Range<usize>>)>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        data: &'a RankingDataset,
        config: &GradientConfig,
        seed: u64,
        device: &Device,
    ) -> Result<Self, DataError> {
        let config_of_steps = BatchPlannerConfig {
            queries: Some(config.batch_queries),
            keep: Keep::All,
            bucket: false,
            shuffle: config.batch_queries < data.queries(),
            ..BatchPlannerConfig::default()
        };
        let shards = Shards::new(data.queries(), config.shards.unwrap_or(1));
        Ok(Self {
            data,
            device: device.clone(),
            resident: Resident::new(data, config.device_memory.map_or(1 << 30, ByteSize::bytes), device),
            batcher: BatchPlanner::with(data, &config_of_steps, seed)?,
            cells: config.batch_cells,
            per_epoch: data.queries().div_ceil(config.batch_queries),
            seed,
            whole: vec![OnceCell::new(); shards.count()],
            windows: data
                .features
                .window()
                .filter(|_| config_of_steps.shuffle)
                .map(|bytes| Windows::new(data, &shards, bytes, seed)),
            own: own(shards.count(), data.group()),
            shards,
            queries: config.batch_queries,
        })
    }

    /// Plans the steps of an epoch.
    pub(super) fn epoch(&self, epoch: usize) -> Epoch {
        let Some(windows) = &self.windows else {
            let mut random = random_for(self.seed, "batches", epoch as u64);
            let steps = match self.shards.count() {
                2.. if self.per_epoch > 1 => self.shards.steps(self.queries, &mut random),
                _ => self.batcher.epoch(epoch as u64),
            };
            return Epoch { steps, windows: Vec::new() };
        };
        let mut planned = Epoch { steps: Vec::new(), windows: Vec::new() };
        for Window { steps, documents } in windows.epoch(epoch as u64, self.queries) {
            let own = documents.into_iter().filter(|(shard, _)| self.own.contains(shard));
            let own: Vec<Range<usize>> = own.map(|(_, documents)| documents).collect();
            if !own.is_empty() {
                planned.windows.push((planned.steps.len(), own));
            }
            planned.steps.extend(steps);
        }
        planned
    }

    /// Starts to read the features that the next steps need, if data are streamed. At the first step of a window,
    /// another thread begins to read the following window.
    pub(super) fn read_ahead(&self, epoch: &Epoch, step: usize) {
        let Ok(window) = epoch.windows.binary_search_by_key(&step, |(first, _)| *first) else { return };
        // The window itself comes first, since it must stay longer than the previous one.
        let documents = epoch.windows.iter().skip(window).take(2).flat_map(|(_, documents)| documents.iter().cloned());
        self.data.features.read_ahead(documents.collect());
    }

    /// Returns the number of queries and the longest list of each part of a step.
    pub(super) fn shapes(&self, queries: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        let length = |query: usize| self.data.range(query).len();
        let shares = (0..self.shards.count()).map(|shard| self.shards.share(shard, queries));
        let parts = shares.flat_map(move |share| cut(&share, length, self.cells));
        parts.map(move |part| (part.len(), length(part[0])))
    }

    /// Returns the padded queries of a step that belong to a shard, part by part, on the device.
    pub(super) fn parts(&self, shard: usize, queries: &[usize]) -> impl Iterator<Item = RankingBatch> {
        let stays = self.per_epoch == 1 && self.data.features.window().is_none();
        let whole = stays.then(|| self.whole[shard].get_or_init(|| self.assemble(shard, queries).collect()).clone());
        let streamed = whole.is_none().then(|| self.assemble(shard, queries));
        whole.into_iter().flatten().chain(streamed.into_iter().flatten())
    }

    fn assemble(&self, shard: usize, queries: &[usize]) -> impl Iterator<Item = RankingBatch> {
        let (data, device, resident) = (self.data, self.device.clone(), self.resident.as_ref());
        let parts = cut(&self.shards.share(shard, queries), |query| data.range(query).len(), self.cells);
        parts.into_iter().map(move |part| match resident {
            Some(resident) => RankingBatch::with_features(data, &part, &device, |padding| resident.gather(padding)),
            None => RankingBatch::assemble(data, &part, &device),
        })
    }
}

/// Cuts the queries of a step into parts of at most `cells` padded places. A list with more than `cells` documents
/// becomes a part by itself.
fn cut(queries: &[usize], length: impl Fn(usize) -> usize, cells: usize) -> Vec<Vec<usize>> {
    let mut sorted: Vec<usize> = queries.iter().copied().filter(|&query| length(query) > 0).collect();
    sorted.sort_by_key(|&query| (std::cmp::Reverse(length(query)), query));
    groups(sorted, |part, query| {
        let width = length(part[0]);
        let padded = (length(query) as f64) < SHORTER * width as f64 && part.len() * width >= ENOUGH;
        (part.len() + 1) * width <= cells && !padded
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing;

    #[test]
    fn a_step_is_cut_by_memory_and_by_padding() {
        let lengths = [10, 100, 90, 0, 20];
        let length = |query: usize| lengths[query];
        let all = [0, 1, 2, 3, 4];
        assert_eq!(cut(&all, length, 10_000), [vec![1, 2, 4, 0]]);
        assert_eq!(cut(&all, length, 200), [vec![1, 2], vec![4, 0]]);
        assert_eq!(cut(&all, length, 50), [vec![1], vec![2], vec![4, 0]]);
        let long = |query: usize| 50 * lengths[query];
        assert_eq!(cut(&all, long, 1 << 20), [vec![1, 2], vec![4, 0]]);
    }

    #[test]
    fn one_step_of_all_queries_keeps_its_parts() {
        let data = testing::two_documents();
        let config = GradientConfig::default();
        let batches = Batches::new(&data, &config, 1, &Device::flex()).unwrap();
        assert_eq!((batches.per_epoch, batches.epoch(1).steps), (1, vec![vec![0]]));
        assert_eq!(batches.parts(0, &[0]).count(), 1);
        assert_eq!(batches.whole[0].get().unwrap().len(), 1);
    }
}
