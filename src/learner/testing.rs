//! Small datasets, contexts and assertions for the unit tests of learners.

use std::path::Path;
use std::sync::Mutex;

use burn::tensor::Device;
use rand::RngExt;

use crate::data::RankingDataset;
use crate::distributed::ProcessGroup;
use crate::distributed::testing::in_processes;
use crate::learner::Job;
use crate::learner::entry::RankingLearner;
use crate::learner::shared::context::{FitContext, Interrupt, Progress, Round, Selection, StopReason};
use crate::measure::{Convention, Measure};
use crate::ranker::{Model, Parts};
use crate::scorer::Scorer;

/// Makes a dataset of queries, each given as a list of `(label, features)`.
pub(crate) fn dataset(feature_count: usize, queries: &[&[(f32, &[f32])]]) -> RankingDataset {
    let mut data = RankingDataset { feature_count, offsets: vec![0], ..RankingDataset::default() };
    for (query, documents) in queries.iter().enumerate() {
        for (label, features) in *documents {
            data.labels.push(*label);
            data.features.to_mut().extend_from_slice(features);
        }
        data.offsets.push(data.labels.len());
        data.query_ids.push(format!("{}", query + 1));
    }
    data
}

/// Creates a query of two documents. The second feature ranks them correctly, and the first feature ranks them in the
/// wrong order.
pub(crate) fn two_documents() -> RankingDataset {
    dataset(2, &[&[(0.0, &[1.0, 0.0]), (1.0, &[0.0, 1.0])]])
}

/// Creates random queries with labels from 0 to 2, which depend partly on the first feature.
pub(crate) fn random(queries: usize, documents: usize, features: usize, seed: u64) -> RankingDataset {
    let mut random = crate::testing::random(seed);
    let mut data = RankingDataset { feature_count: features, offsets: vec![0], ..RankingDataset::default() };
    for query in 0..queries {
        for document in 0..documents {
            let row: Vec<f32> = (0..features).map(|_| random.random_range(-1.0..1.0)).collect();
            // The first three documents cover all labels.
            let drawn = (1.5 * row[0] + random.random_range(-1.0..1.0f32)).clamp(0.0, 2.0).round();
            data.labels.push(if document < 3 { document as f32 } else { drawn });
            data.features.to_mut().extend(row);
        }
        data.offsets.push(data.labels.len());
        data.query_ids.push(query.to_string());
    }
    data
}

/// Writes the data to an Arrow file and streams it in windows of `window` bytes, keeping at most `memory` bytes in
/// memory.
#[cfg(feature = "columnar")]
pub(crate) fn streamed(data: &RankingDataset, memory: &str, window: &str) -> (tempfile::TempDir, RankingDataset) {
    use crate::data::{
        byte_size::ByteSize,
        columnar::Format,
        letor::{Missing, ReadOptions},
        read,
    };

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.arrow");
    data.clone().write_columnar(Format::Arrow, &mut std::fs::File::create(&path).unwrap()).unwrap();
    let options = ReadOptions { missing: Missing::Keep, ..ReadOptions::default() };
    let mut streamed = read(&[path], &options).unwrap();
    let [memory, window] = [memory, window].map(|size| size.parse::<ByteSize>().unwrap().bytes());
    streamed.stream(memory, window).unwrap();
    (folder, streamed)
}

/// Returns a context whose selection measure is MAP under the convention `letor`.
pub(crate) fn context(directory: Option<&Path>) -> FitContext<'_> {
    FitContext {
        directory,
        ..FitContext::new(
            Device::flex(),
            7,
            Selection {
                convention: Convention::preset("letor").expect("a preset"),
                ..Selection::best(Measure::Ap(None))
            },
        )
    }
}

/// Returns the weights and the bias of a linear model.
pub(crate) fn linear_weights(model: &Model) -> (Vec<f32>, f32) {
    match model {
        Model::Scorer(Scorer::Linear(scorer)) => scorer.weights(),
        other => panic!("a linear scorer, not {other:?}"),
    }
}

/// Collects the warnings of a fit.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("no test panics while it warns").join("\n")
    }
}

impl Progress for Warnings {
    fn begin(&self, _: &str, _: Option<usize>) {}
    fn round(&self, _: &Round) {}
    fn warn(&self, message: &str) {
        self.0.lock().expect("no test panics while it warns").push(message.to_owned());
    }
    fn end(&self) {}
}

/// Interrupts a fit after a number of rounds. The state on disk is then the same as if the fit had been killed between
/// two rounds.
pub(crate) struct StopAfter {
    pub(crate) rounds: usize,
    pub(crate) interrupt: Interrupt,
}

impl Progress for StopAfter {
    fn begin(&self, _: &str, _: Option<usize>) {}
    fn round(&self, round: &Round) {
        if round.round >= self.rounds {
            self.interrupt.request();
        }
    }
    fn warn(&self, _: &str) {}
    fn end(&self) {}
}

/// Asserts that a fit gives the same history and model with any number of threads, and also when it is stopped and
/// resumed.
pub(crate) fn assert_reproducible(
    learner: &dyn RankingLearner,
    train: &RankingDataset,
    validation: &RankingDataset,
    rounds: usize,
) {
    let fit = |threads: usize, context: &FitContext| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fitted = pool.install(|| learner.fit(Job::new(train, Some(validation), context))).unwrap();
        let scores: Vec<u32> = fitted.model.predict(train, &context.device).into_iter().map(f32::to_bits).collect();
        let model = (Parts::from_model(&fitted.model), scores);
        (fitted, model)
    };
    let (whole, model) = fit(1, &context(None));
    let (again, model_again) = fit(3, &context(None));
    assert_eq!((&again.history, &model_again, &again.positions), (&whole.history, &model, &whole.positions), "again");

    let folder = tempfile::tempdir().unwrap();
    let mut stopped = context(Some(folder.path()));
    let progress = StopAfter { rounds, interrupt: stopped.interrupt.clone() };
    stopped.progress = &progress;
    let (part, _) = fit(2, &stopped);
    assert_eq!((part.stop, part.history.len()), (StopReason::Interrupted, rounds));
    let resumed = context(Some(folder.path()));
    let (rest, model_resumed) = fit(2, &resumed);
    assert_eq!((&rest.history, &model_resumed), (&whole.history, &model), "resumed");
    assert_eq!((rest.best_round, rest.stop, rest.importance), (whole.best_round, whole.stop, whole.importance));
    assert_eq!(rest.positions, whole.positions);
}

/// Returns the dataset, shared with a group.
pub(crate) fn shared(data: &RankingDataset, group: &ProcessGroup) -> RankingDataset {
    let mut data = data.clone();
    data.share_with(group);
    data
}

/// Asserts that a fit gives the same result with any number of processes. Also asserts that the fit can be stopped
/// after `rounds` rounds and resumed with a different number of processes.
pub(crate) fn assert_same_in_processes(
    learner: &dyn RankingLearner,
    train: &RankingDataset,
    validation: &RankingDataset,
    rounds: usize,
) {
    let fit = |group: &ProcessGroup, directory: Option<&Path>, interrupt: Interrupt| {
        let context = FitContext { interrupt, ..context(directory) };
        let fitted = learner.fit(Job::new(&shared(train, group), Some(&shared(validation, group)), &context)).unwrap();
        (Parts::from_model(&fitted.model), fitted.history, fitted.best_round, fitted.stop, fitted.positions)
    };
    let whole = Interrupt::default;
    let alone = fit(ProcessGroup::ALONE, None, whole());
    for (count, other) in [(1, 3), (2, 1), (3, 2)] {
        let made = in_processes(count, |group| fit(group, None, whole()));
        assert!(made.iter().all(|made| *made == alone), "{count} processes");
        let folder = tempfile::tempdir().unwrap();
        let stopped = in_processes(count, |group| fit(group, Some(folder.path()), whole().after(rounds)));
        assert!(stopped.iter().all(|(_, history, ..)| history.len() == rounds));
        let made = in_processes(other, |group| fit(group, Some(folder.path()), whole()));
        assert!(made.iter().all(|made| *made == alone), "{count} processes, resumed in {other}");
    }
}
