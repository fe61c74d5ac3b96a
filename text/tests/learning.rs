//! Training steps of the tiny model. burn has one generator per process, so these run one after another.

use std::sync::{Mutex, MutexGuard, PoisonError};

use burn::module::{Lora, Module, ParamGroup};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use burn_rank::cached_backward;
use burn_rank::learner::{Interrupt, StopReason};
use burn_rank::loss::{About, Change, Lists, LossError};
use burn_rank::measure::{Convention, Measure};
use burn_rank::prelude::*;
use burn_rank::seed::seed_for;
use burn_rank_text::train::{Event, TextSet, Training, train};
use burn_rank_text::{
    CrossEncoder, Kind, LearnerConfig, LoraConfig, ModelFolder, TextError, TextScorer, TokenLists, Towers,
};

use crate::tiny::{Tensors, lists, read_tensors, write_folder};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Tiny {
    home: tempfile::TempDir,
    folder: ModelFolder,
    device: Device,
}

impl Tiny {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        write_folder(home.path());
        let device = Device::flex().autodiff();
        device.seed(5);
        Self { folder: ModelFolder::open(home.path()).unwrap(), home, device }
    }

    fn towers(&self) -> Towers {
        self.folder.towers(None, &self.device).unwrap().model
    }

    fn cross_encoder(&self) -> CrossEncoder {
        self.folder.cross_encoder(&self.device).unwrap().model
    }

    fn set(&self, count: usize, kind: Kind) -> TextSet {
        let lists = lists(count);
        let tokens = TokenLists::new(&lists, &self.folder.tokenizer(None).unwrap(), kind, 0).unwrap();
        TextSet::new(&lists, tokens).unwrap()
    }

    fn saved<S: TextScorer>(&self, model: &S) -> Tensors {
        let saved = self.home.path().join("saved");
        self.folder.save(model, 48, &saved).unwrap();
        read_tensors(&saved.join("model.safetensors"))
    }

    /// Trains for some epochs, and returns the weights, the scores' MRR at the end and the warnings.
    fn train<S: TextScorer>(
        &self,
        model: S,
        set: &TextSet,
        loss: &dyn RankingLoss,
        learner: &LearnerConfig,
    ) -> (S, f64, Vec<String>) {
        let (convention, warnings) = (Convention::default(), Mutex::new(Vec::new()));
        let tell = |event: Event<'_>| {
            if let Event::Warning(words) = event {
                warnings.lock().unwrap().push(words);
            }
        };
        let training = Training {
            train: set,
            validation: Some(set),
            loss,
            learner,
            selection: (Measure::ReciprocalRank(None), &convention),
            seed: 3,
            device: &self.device,
            interrupt: Interrupt::default(),
            tell: &tell,
        };
        let mut best = None;
        let keep = |model: &S| {
            best = Some(model.clone());
            Ok::<_, TextError>(())
        };
        let trained = train(model, &training, keep).unwrap();
        assert_eq!((trained.stop, trained.history.len()), (StopReason::Completed, learner.epochs));
        let reached = trained.history[trained.best_round - 1].validation.unwrap();
        assert!(trained.history.iter().all(|round| round.validation.unwrap() <= reached));
        (best.unwrap(), reached, warnings.into_inner().unwrap())
    }
}

fn learner(epochs: usize, learning_rate: f64) -> LearnerConfig {
    serde_json::from_value(serde_json::json!({"epochs": epochs, "learning_rate": learning_rate, "batch_documents": 20, "chunk_tokens": 64}))
        .unwrap()
}

fn changed(before: &Tensors, after: &Tensors) -> Vec<String> {
    let bare = |name: &str| name.trim_start_matches("bert.").to_string();
    after.iter().filter(|(name, values)| before.get(&bare(name)) != Some(values)).map(|(name, _)| bare(name)).collect()
}

#[test]
fn twenty_lists_are_learned_by_heart() {
    let _alone = alone();
    let tiny = Tiny::new();
    let loss = SoftmaxCrossEntropyConfig::new().init().unwrap();
    let (_, towers, _) = tiny.train(tiny.towers(), &tiny.set(20, Kind::Towers), &loss, &learner(40, 3e-3));
    let (_, cross, _) = tiny.train(tiny.cross_encoder(), &tiny.set(20, Kind::CrossEncoder), &loss, &learner(60, 3e-3));
    assert!(towers > 0.95 && cross > 0.95, "{towers} {cross}");
}

#[test]
fn frozen_weights_stay_and_all_others_change() {
    let _alone = alone();
    let tiny = Tiny::new();
    let before = read_tensors(&tiny.home.path().join("model.safetensors"));
    let loss = ListNetConfig::new().init().unwrap();
    let mut frozen = learner(1, 1e-3);
    frozen.freeze = vec!["embeddings".into(), "encoder.layer.0".into()];
    let (model, ..) = tiny.train(tiny.towers(), &tiny.set(6, Kind::Towers), &loss, &frozen);
    let names = changed(&before, &tiny.saved(&model));
    // A key's bias adds the same to all scores of a token, so its gradient is 0, except for rounding. Towers have no
    // pooler.
    let expected = |name: &str| name.starts_with("encoder.layer.1.") && !name.ends_with("key.bias");
    assert!(names.iter().all(|name| name.starts_with("encoder.layer.1.")), "{names:?}");
    assert_eq!(names.iter().filter(|name| expected(name)).count(), 15, "{names:?}");
    let mut wrong = learner(1, 1e-3);
    wrong.freeze = vec!["embedings".into()];
    let set = tiny.set(6, Kind::Towers);
    let convention = Convention::default();
    let training = Training {
        train: &set,
        validation: None,
        loss: &loss,
        learner: &wrong,
        selection: (Measure::ReciprocalRank(None), &convention),
        seed: 1,
        device: &tiny.device,
        interrupt: Interrupt::default(),
        tell: &|_| {},
    };
    let error = train(tiny.towers(), &training, |_| Ok::<_, TextError>(())).unwrap_err().to_string();
    assert!(error.starts_with("learner.freeze[0]: unknown part `embedings`"), "{error}");
}

#[test]
fn adapters_change_queries_and_values_only_and_merge() {
    let _alone = alone();
    let tiny = Tiny::new();
    let before = read_tensors(&tiny.home.path().join("model.safetensors"));
    let loss = SoftmaxCrossEntropyConfig::new().init().unwrap();
    let mut learner = learner(2, 1e-2);
    learner.lora = Some(LoraConfig { rank: 4, alpha: 8.0 });
    let set = tiny.set(8, Kind::CrossEncoder);
    let (model, ..) = tiny.train(tiny.cross_encoder(), &set, &loss, &learner);
    let names = changed(&before, &tiny.saved(&model));
    let is_adapted = |name: &String| name.ends_with("query.weight") || name.ends_with("value.weight");
    let is_head = |name: &String| name.starts_with("pooler.") || name.starts_with("classifier.");
    assert!(names.iter().all(|name| is_adapted(name) || is_head(name)), "{names:?}");
    assert_eq!(names.iter().filter(|name| is_adapted(name)).count(), 4, "{names:?}");
    let scores = |model: &CrossEncoder| -> Vec<f32> {
        let step = set.tokens.step(&[0, 1, 2, 3], 64, &Device::flex());
        step.scores(model).into_data().iter::<f32>().collect()
    };
    let (apart, merged) = (scores(&model.valid()), scores(&model.valid().materialize()));
    let largest = apart.iter().fold(1.0, |largest: f32, score| largest.max(score.abs()));
    assert!(
        apart.iter().zip(&merged).all(|(one, other)| (one - other).abs() <= 1e-6 * largest),
        "{apart:?} {merged:?}"
    );
}

#[test]
fn a_cached_gradient_is_that_of_one_pass_with_adapters_and_dropout() {
    let _alone = alone();
    let tiny = Tiny::new();
    let set = tiny.set(3, Kind::Towers);
    let step = set.tokens.step(&[0, 1, 2], 40, &tiny.device);
    assert!(step.chunks.len() > 1);
    let adapted = ParamGroup::from_regex(r"mha\.(query|value)\.weight$").unwrap();
    let model = tiny.towers().apply_lora(Lora::new(2, 4.0).set_param_group(adapted));
    // The second factor of an adapter begins at 0, where the first has no gradient: a step moves it.
    let labels = Tensor::<1>::from_floats(&set.dataset.labels[..12], &tiny.device);
    let segments = Segments::from_lengths(&[4, 4, 4]).unwrap();
    let loss = ListNetConfig::new().init().unwrap();
    let of = |model: &Towers, read: Tensor<1>| {
        loss.forward_packed(model.scores(step.in_order(read), &step.rows), labels.clone(), &segments, Reduction::Mean)
    };
    let cached = |model: &Towers| {
        let read = |model: &Towers, chunk: &_| model.read(chunk).flatten::<1>(0, 1);
        cached_backward(model, &step.chunks, read, |read| of(model, read), 9).unwrap().1
    };
    let model = AdamConfig::new().init().step(1e-2, model.clone(), cached(&model));
    let by_chunks = cached(&model);
    let read = step.chunks.iter().enumerate().map(|(at, chunk)| {
        tiny.device.seed(seed_for(9, "chunk", at as u64));
        model.read(chunk).flatten::<1>(0, 1)
    });
    let whole = of(&model, Tensor::cat(read.collect(), 0)).backward();
    let whole = GradientsParams::from_grads(whole, &model);
    assert_eq!((by_chunks.len(), whole.len()), (8, 8));
    let mut compared = 0;
    for id in burn::module::list_param_ids(&model) {
        let of = |gradients: &GradientsParams| {
            gradients.get::<2>(id).map(|gradient| gradient.into_data().try_to_vec::<f32>().unwrap())
        };
        let (Some(one), Some(other)) = (of(&by_chunks), of(&whole)) else { continue };
        let largest = other.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        assert!(largest > 0.0 && one.iter().zip(&other).all(|(one, other)| (one - other).abs() <= 1e-5 * largest));
        compared += 1;
    }
    assert_eq!(compared, 8);
}

#[test]
fn in_batch_negatives_and_teachers_train() {
    let _alone = alone();
    let tiny = Tiny::new();
    let set = tiny.set(12, Kind::Towers);
    let loss = SoftmaxCrossEntropyConfig::new().init().unwrap();
    let mut in_batch = learner(30, 3e-3);
    in_batch.in_batch = true;
    let (_, reached, _) = tiny.train(tiny.towers(), &set, &loss, &in_batch);
    assert!(reached > 0.9, "{reached}");
    let refused = in_batch.check(Kind::CrossEncoder).unwrap_err().to_string();
    assert!(refused.starts_with("in_batch = true: expected false"), "{refused}");
    // The teacher prefers the first document of each list.
    let params = serde_json::json!({"name": "teacher_kl"});
    let taught = burn_rank::loss::LossSpec::new("list_net").with("teacher", params).build().unwrap();
    let (model, ..) = tiny.train(tiny.towers(), &set, &*taught, &learner(10, 1e-3));
    assert_ne!(tiny.saved(&model), read_tensors(&tiny.home.path().join("model.safetensors")));
    // A loss made for a teacher reads the relevance only if there are no scores.
    let loss = burn_rank::loss::LossSpec::new("teacher_kl").build().unwrap();
    let mut unscored = tiny.set(12, Kind::Towers);
    unscored.teacher.fill(f32::NAN);
    let [by_scores, by_relevance] = [&set, &unscored].map(|set| {
        let (model, ..) = tiny.train(tiny.towers(), set, &*loss, &learner(1, 1e-3));
        tiny.saved(&model)
    });
    assert_ne!(by_scores, by_relevance);
}

/// A loss that notes the seeds of the noise that it is asked for.
#[derive(Debug)]
struct Noisy {
    loss: Box<dyn RankingLoss>,
    seeds: Mutex<Vec<u64>>,
}

impl RankingLoss for Noisy {
    fn about(&self) -> About<'_> {
        self.loss.about()
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        self.loss.query_losses(lists)
    }

    fn changed(&self, change: Change<'_>) -> Result<Option<Box<dyn RankingLoss>>, LossError> {
        if let Change::Noise(seed) = change {
            self.seeds.lock().unwrap().push(seed(7));
        }
        Ok(None)
    }
}

#[test]
fn a_loss_draws_anew_in_each_step_and_the_same_in_each_training() {
    let _alone = alone();
    let tiny = Tiny::new();
    let set = tiny.set(6, Kind::Towers);
    let seeds = || {
        let loss = burn_rank::loss::LossSpec::new("list_net").build().unwrap();
        let loss = Noisy { loss, seeds: Mutex::default() };
        tiny.train(tiny.towers(), &set, &loss, &learner(3, 1e-3));
        loss.seeds.into_inner().unwrap()
    };
    let found = seeds();
    assert_eq!(found, seeds());
    let distinct: std::collections::BTreeSet<u64> = found.iter().copied().collect();
    assert_eq!((found.len(), distinct.len()), (6, 6));
}

/// A list whose documents are equally relevant is left out and said; without any other there is nothing to learn.
#[test]
fn lists_without_anything_to_learn_are_left_out() {
    let _alone = alone();
    let tiny = Tiny::new();
    let mut lists = lists(4);
    lists[2].documents.iter_mut().for_each(|document| document.relevance = 0.0);
    let tokens = TokenLists::new(&lists, &tiny.folder.tokenizer(None).unwrap(), Kind::Towers, 0).unwrap();
    let set = TextSet::new(&lists, tokens).unwrap();
    let loss = SoftmaxCrossEntropyConfig::new().init().unwrap();
    let (.., warnings) = tiny.train(tiny.towers(), &set, &loss, &learner(1, 1e-3));
    assert_eq!(warnings, ["1 training list of 4 left out: they have nothing to learn for this loss"]);
}
