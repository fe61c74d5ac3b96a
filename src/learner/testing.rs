//! Small data and contexts for the learners' unit tests.

use std::path::Path;
use std::sync::Mutex;

use burn::tensor::Device;

use super::{FitContext, Interrupt, NoProgress, Progress, Round, Selection};
use crate::data::Dataset;
use crate::measure::{Convention, Measure};
use crate::ranker::Model;
use crate::scorer::Scorer;

/// A dataset of queries, each a list of `(label, features)`.
pub(crate) fn dataset(feature_count: usize, queries: &[&[(f32, &[f32])]]) -> Dataset {
    let mut data = Dataset { feature_count, offsets: vec![0], ..Dataset::default() };
    for (query, documents) in queries.iter().enumerate() {
        for (label, features) in *documents {
            data.labels.push(*label);
            data.features.extend_from_slice(features);
        }
        data.offsets.push(data.labels.len());
        data.query_ids.push(format!("{}", query + 1));
    }
    data
}

/// One query, two documents, two features: the second feature orders them, the first reverses them.
pub(crate) fn two_documents() -> Dataset {
    dataset(2, &[&[(0.0, &[1.0, 0.0]), (1.0, &[0.0, 1.0])]])
}

/// A context that selects by MAP in the `letor` convention.
pub(crate) fn context(directory: Option<&Path>) -> FitContext<'_> {
    FitContext {
        device: Device::flex(),
        seed: 7,
        selection: Selection { measure: Measure::Ap(None), convention: Convention::preset("letor").expect("a preset") },
        directory,
        resume: false,
        dashboard: false,
        progress: &NoProgress,
        interrupt: Interrupt::default(),
    }
}

/// Weights and bias of a linear model.
pub(crate) fn linear_weights(model: &Model) -> (Vec<f32>, f32) {
    match model {
        Model::Scorer(Scorer::Linear(scorer)) => scorer.weights(),
        other => panic!("a linear scorer, not {other:?}"),
    }
}

/// Keeps the warnings of a fit.
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

/// Interrupts a fit after a number of rounds: a kill between two rounds, as far as the state on disk goes.
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
