//! Training: lists without padding, gradients in chunks of tokens, the best epoch by an exact measure.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use burn::grad_clipping::GradientClipping;
use burn::module::{Lora, ParamGroup};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};
use burn_rank::cached_backward;
use burn_rank::data::{RankingDataset, Segments};
use burn_rank::learner::gradient::ClipConfig;
use burn_rank::learner::{Interrupt, Round, StopReason};
use burn_rank::loss::{Change, InBatchOptions, Lists, LossError, RankingLoss, Reduction, degenerate_queries, in_batch};
use burn_rank::measure::{Convention, Measure};
use burn_rank::refusal::Refusal;
use burn_rank::seed::seed_for;
use burn_rank::workbench::text::counted;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;

use crate::data::TextList;
use crate::error::TextError;
use crate::learner::LearnerConfig;
use crate::lists::{Step, TokenLists, groups, score_lists};
use crate::scorer::{Kind, TextScorer};
use crate::tokens::Chunk;
use crate::weights::parameters;

/// The texts of a set, as lists and as tokens.
#[derive(Debug)]
pub struct TextSet {
    /// The labels, without features.
    pub dataset: RankingDataset,
    /// The scores of a teacher; NaN where a document has none, which no loss of a teacher takes.
    pub teacher: Vec<f32>,
    /// The tokens.
    pub tokens: TokenLists,
}

impl TextSet {
    /// Joins lists with their tokens.
    ///
    /// # Errors
    /// Returns an error if there is no list, or if an identifier cannot be used.
    pub fn new(lists: &[TextList], tokens: TokenLists) -> Result<Self, TextError> {
        let documents = lists.iter().flat_map(|list| &list.documents);
        let teacher = documents.map(|document| document.score.unwrap_or(f32::NAN)).collect();
        Ok(Self { dataset: crate::data::to_dataset(lists)?, teacher, tokens })
    }
}

/// What a training needs beside the model.
pub struct Training<'a> {
    /// The training lists.
    pub train: &'a TextSet,
    /// The lists on which the best epoch is chosen; without them the last one is kept.
    pub validation: Option<&'a TextSet>,
    /// The loss.
    pub loss: &'a dyn RankingLoss,
    /// The settings.
    pub learner: &'a LearnerConfig,
    /// The measure that chooses, and its convention.
    pub selection: (Measure, &'a Convention),
    /// The seed.
    pub seed: u64,
    /// The device, with gradients.
    pub device: &'a Device,
    /// Stops after a step.
    pub interrupt: Interrupt,
    /// Hears what happens.
    pub tell: &'a dyn Fn(Event<'_>),
}

impl Training<'_> {
    /// Returns whether the loss learns from the scores of a teacher.
    fn is_taught(&self) -> bool {
        let about = self.loss.about();
        about.needs_teacher || about.reads_teacher && self.train.teacher.iter().any(|score| !score.is_nan())
    }
}

/// What happens in a training.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Training begins, with this number of steps.
    Begun(usize),
    /// A step is done.
    Step {
        /// Steps so far, over all epochs.
        done: usize,
        /// The epoch, from 1.
        epoch: usize,
        /// The loss of the step.
        loss: f64,
        /// Trained tokens a second since the training began, without validation.
        tokens_per_second: f64,
    },
    /// Lists of the validation set are scored: so many of all.
    Scored(usize, usize),
    /// An epoch is done.
    Round(&'a Round),
    /// Something that the user may want to change.
    Warning(String),
}

/// The end of a training.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrainedText {
    /// Every epoch.
    pub history: Vec<Round>,
    /// The epoch that was kept, from 1.
    pub best_round: usize,
    /// Why the training ended.
    pub stop: StopReason,
    /// Trained tokens a second, without validation.
    pub tokens_per_second: f64,
}

/// Trains a model. `keep` gets the best one so far, each time that an epoch is better than all before it; adapters are
/// not merged yet.
///
/// # Errors
/// Returns an error if no list has anything to learn, if the loss does not accept a relevance, lacks the score of a
/// teacher or cannot be computed, or the error of `keep`.
pub fn train<S: TextScorer, E: From<TextError>>(
    model: S,
    training: &Training,
    mut keep: impl FnMut(&S) -> Result<(), E>,
) -> Result<TrainedText, E> {
    let Training { learner, train, .. } = *training;
    learner.check(S::KIND).map_err(|refusal| TextError::from(refusal.under("learner")))?;
    check_set(training)?;
    let mut model = prepared(model, learner).map_err(TextError::from)?;
    let mut optimizer = optimizer(&model, learner);
    let epochs = plan(training)?;
    let steps: usize = epochs.iter().map(Vec::len).sum();
    (training.tell)(Event::Begun(steps));
    let warmup = (learner.warmup * steps as f64).ceil();
    let (mut history, mut best, mut stop) = (Vec::new(), None::<(f64, usize)>, StopReason::Completed);
    let (mut done, mut tokens, mut spent) = (0, 0, Duration::ZERO);
    let speed = |tokens: usize, spent: Duration| tokens as f64 / spent.as_secs_f64().max(1e-9);
    for (epoch, batches) in (1..).zip(&epochs) {
        let (mut sum, mut lists, mut rate) = (0.0, 0, 0.0);
        for batch in batches {
            let begun = Instant::now();
            // Rises to the rate, then falls to 0.
            rate = learner.learning_rate
                * if (done as f64) < warmup {
                    (done + 1) as f64 / warmup
                } else {
                    (steps - done) as f64 / (steps as f64 - warmup)
                };
            let step = train.tokens.step(batch, learner.chunk_tokens, training.device);
            let (loss, gradients) =
                gradients(&model, &step, batch, training, seed_for(training.seed, "step", done as u64))?;
            model = optimizer.step(rate, model, gradients);
            let loss = loss.into_scalar::<f64>();
            if !loss.is_finite() {
                return Err(TextError::Diverged { epoch, loss }.into());
            }
            (sum, lists) = (sum + loss * batch.len() as f64, lists + batch.len());
            (done, tokens, spent) = (done + 1, tokens + step.tokens, spent + begun.elapsed());
            (training.tell)(Event::Step { done, epoch, loss, tokens_per_second: speed(tokens, spent) });
            if training.interrupt.requested() {
                stop = StopReason::Interrupted;
                break;
            }
        }
        let valid = model.valid();
        let validation = training.validation.map(|set| measured(&valid, set, training)).transpose()?;
        let round = Round {
            round: epoch,
            objective: sum / lists as f64,
            train: None,
            validation,
            figures: vec![("learning_rate".to_string(), rate)],
        };
        (training.tell)(Event::Round(&round));
        history.push(round);
        let value = validation.unwrap_or(epoch as f64);
        if best.is_none_or(|(best, _)| value > best) {
            best = Some((value, epoch));
            keep(&valid)?;
        }
        if stop == StopReason::Interrupted {
            break;
        }
    }
    let best_round = best.map_or(1, |(_, epoch)| epoch);
    Ok(TrainedText { history, best_round, stop, tokens_per_second: speed(tokens, spent) })
}

/// The selection measure on a set.
fn measured<S: TextScorer>(model: &S, set: &TextSet, training: &Training) -> Result<f64, TextError> {
    let all: Vec<usize> = (0..set.tokens.len()).collect();
    let tell = |done: usize| (training.tell)(Event::Scored(done, all.len()));
    let device = training.device.clone().inner();
    let scores = score_lists(model, &set.tokens, &all, training.learner.chunk_tokens, &device, tell);
    let (measure, convention) = training.selection;
    Ok(measure.mean(&set.dataset.rankings(&scores), convention)?)
}

/// Checks that the loss accepts the relevance of each document, and that the loss of a teacher has all scores. With
/// `in_batch`, the loss reads other labels, which are 0 or 1, and no teacher.
fn check_set(training: &Training) -> Result<(), TextError> {
    if training.learner.in_batch {
        return Ok(());
    }
    let (set, data, about) = (training.train, &training.train.dataset, training.loss.about());
    let refused = |words: String| Err(Refusal::fault("data.train", words).into());
    let is_taught = training.is_taught();
    if let Some(missing) = set.teacher.iter().position(|score| is_taught && score.is_nan()) {
        let document = &data.document_ids[missing];
        return refused(format!("document `{document}` has no `score`, which the loss of a teacher reads"));
    }
    match about.check_labels(&data.labels, &data.offsets) {
        Err(LossError::Label { query, document, found, expected, .. }) => {
            let (list, document) = (&data.query_ids[query], &data.document_ids[data.range(query).start + document]);
            refused(format!(
                "query `{list}`, document `{document}`: relevance {found}, expected {expected} for {}",
                about.name
            ))
        }
        checked => Ok(checked?),
    }
}

/// The steps of each epoch: lists in a new order, as many as a step has documents for.
fn plan(training: &Training) -> Result<Vec<Vec<Vec<usize>>>, TextError> {
    let (set, learner) = (training.train, training.learner);
    let data = &set.dataset;
    let has_relevant = |list: &usize| data.has_relevant(*list);
    let idle = match (learner.in_batch, training.is_taught()) {
        (true, _) => (0..data.queries()).filter(|list| !has_relevant(list)).collect(),
        // A teacher orders documents of equal relevance.
        (_, true) => Vec::new(),
        _ => degenerate_queries(training.loss, &data.labels, &data.offsets)?,
    };
    if idle.len() == data.queries() {
        return Err(Refusal::fault(
            "data.train",
            "no list has anything to learn: expected a relevant document and another",
        )
        .into());
    }
    if !idle.is_empty() {
        let lists = counted(idle.len(), "training list");
        let words = format!("{lists} of {} left out: they have nothing to learn for this loss", data.queries());
        (training.tell)(Event::Warning(words));
    }
    let mut learnable: Vec<usize> = (0..data.queries()).collect();
    learnable.retain(|list| idle.binary_search(list).is_err());
    let epoch = |epoch: usize| {
        let mut order = learnable.clone();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed_for(training.seed, "shuffle", epoch as u64)));
        let documents = order.iter().map(|&list| set.tokens.documents(list));
        groups(documents, learner.batch_documents).into_iter().map(|batch| order[batch].to_vec()).collect()
    };
    Ok((0..learner.epochs).map(epoch).collect())
}

/// Freezes what is not to change, and adds adapters.
fn prepared<S: TextScorer>(model: S, learner: &LearnerConfig) -> Result<S, Refusal> {
    let parameters = parameters(&model);
    let is_within =
        |name: &str, part: &str| name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let chosen = |of: &dyn Fn(&str) -> bool| -> Vec<String> {
        parameters.iter().filter(|(_, _, name)| of(name)).map(|(_, path, _)| path.clone()).collect()
    };
    if let Some(lora) = &learner.lora {
        let adapted = chosen(&|name| name.ends_with("self.query.weight") || name.ends_with("self.value.weight"));
        let head = chosen(&|name| name.starts_with("classifier.") || name.starts_with("pooler."));
        let lora = Lora::new(lora.rank, lora.alpha).set_param_group(ParamGroup::from_paths(adapted));
        return Ok(model.apply_lora(lora).set_require_grad_group(ParamGroup::from_paths(head), true));
    }
    let unknown = learner.freeze.iter().enumerate().find(|(_, part)| chosen(&|name| is_within(name, part)).is_empty());
    if let Some((at, part)) = unknown {
        let mut known: Vec<String> =
            parameters.iter().map(|(_, _, name)| name.split('.').next().unwrap_or_default().to_string()).collect();
        known.dedup();
        return Err(Refusal::unknown(format!("learner.freeze[{at}]"), "part", part, known, ""));
    }
    let is_frozen = |name: &str| learner.freeze.iter().any(|part| is_within(name, part));
    // Towers keep the pooler of their file and read none.
    let is_read = |name: &str| S::KIND == Kind::CrossEncoder || !name.starts_with("pooler.");
    if parameters.iter().all(|(_, _, name)| is_frozen(name) || !is_read(name)) {
        return Err(Refusal::fault("learner.freeze", "no weight is left to train"));
    }
    let frozen = chosen(&is_frozen);
    Ok(if frozen.is_empty() { model } else { model.set_require_grad_group(ParamGroup::from_paths(frozen), false) })
}

/// AdamW, without weight decay on biases and norms.
fn optimizer<S: TextScorer>(model: &S, learner: &LearnerConfig) -> ModuleOptimizer {
    let clip = learner.clip.map(|clip| match clip {
        ClipConfig::Value(bound) => GradientClipping::Value(bound as f32),
        ClipConfig::Norm(bound) => GradientClipping::Norm(bound as f32),
    });
    let adam = |decay: f64| AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(decay as f32);
    let optimizer = adam(learner.weight_decay).init();
    let optimizer = match &clip {
        Some(clip) => optimizer.with_grad_clipping(clip.clone()),
        None => optimizer,
    };
    let is_spared = |name: &String| name.ends_with(".bias") || name.contains("LayerNorm");
    let spared: Vec<String> =
        parameters(model).into_iter().filter(|(_, _, name)| is_spared(name)).map(|(_, path, _)| path).collect();
    optimizer.with_group(ParamGroup::from_paths(spared), adam(0.0).build(), clip)
}

/// The loss of a step and its gradient.
fn gradients<S: TextScorer>(
    model: &S,
    step: &Step,
    batch: &[usize],
    training: &Training,
    seed: u64,
) -> Result<(Tensor<1>, GradientsParams), TextError> {
    let set = training.train;
    let of = |values: &[f32]| -> Tensor<1> {
        let values: Vec<f32> = batch.iter().flat_map(|&list| &values[set.dataset.range(list)]).copied().collect();
        let shape = [values.len()];
        Tensor::from_data(TensorData::new(values, shape), training.device)
    };
    let lengths: Vec<usize> = batch.iter().map(|&list| set.dataset.range(list).len()).collect();
    let segments = Segments::from_lengths(&lengths)?;
    let labels = of(&set.dataset.labels);
    let teacher = training.is_taught().then(|| of(&set.teacher));
    // New random numbers in each step.
    let drawn = training.loss.changed(Change::Noise(&|own| seed_for(seed ^ own, "noise", 0)))?;
    let loss = drawn.as_deref().unwrap_or(training.loss);
    // What a text gives may be a vector; the gradient is cached all the same.
    let read = |model: &S, chunk: &Chunk| model.read(chunk).flatten::<1>(0, 1);
    let packed = |read: Tensor<1>| {
        let scores = model.scores(step.in_order(read), &step.rows);
        let lists = Lists::packed(scores, labels.clone(), &segments);
        match &teacher {
            Some(teacher) => loss.forward_lists(&lists.with_teacher(teacher.clone()), Reduction::Mean),
            None => loss.forward_lists(&lists, Reduction::Mean),
        }
    };
    if !training.learner.in_batch {
        return backward(model, &step.chunks, read, packed, seed, training);
    }
    let positives = positives(set, batch);
    let options = InBatchOptions::new().with_temperature(1.0 / model.scale());
    let of_batch = |read: Tensor<1>| {
        let read = step.in_order(read);
        let [count, _] = read.dims();
        let queries = read.clone().narrow(0, 0, step.rows.queries);
        let documents = read.narrow(0, step.rows.queries, count - step.rows.queries);
        let (scores, labels, mask) =
            in_batch(queries, documents, &positives, &options).expect("every list has a relevant document");
        loss.forward(scores, labels, mask, Reduction::Mean)
    };
    backward(model, &step.chunks, read, of_batch, seed, training)
}

/// The loss of chunks and its gradient. Chunks that fit in memory together are read once, since nothing has to be
/// cached.
fn backward<S: TextScorer>(
    model: &S,
    chunks: &[Chunk],
    read: impl Fn(&S, &Chunk) -> Tensor<1>,
    loss: impl Fn(Tensor<1>) -> Tensor<1>,
    seed: u64,
    training: &Training,
) -> Result<(Tensor<1>, GradientsParams), TextError> {
    if chunks.iter().map(Chunk::tokens).sum::<usize>() > training.learner.chunk_tokens {
        return Ok(cached_backward(model, chunks, read, loss, seed)?);
    }
    let read = chunks.iter().enumerate().map(|(at, chunk)| {
        // `cached_backward` seeds each chunk in the same way, so both draw the same dropout.
        training.device.seed(seed_for(seed, "chunk", at as u64));
        read(model, chunk)
    });
    let value = loss(Tensor::cat(read.collect(), 0));
    let gradients = GradientsParams::from_grads(value.backward(), model);
    Ok((value.detach(), gradients))
}

/// The rows of the relevant documents of each list among the documents of a step. The rows of the list itself come
/// first. A text that several lists have is relevant in each of its rows.
fn positives(set: &TextSet, batch: &[usize]) -> Vec<Vec<usize>> {
    let texts: Vec<&[u32]> = batch.iter().flat_map(|&list| set.tokens.texts(list)).collect();
    let mut rows_of: HashMap<&[u32], Vec<usize>> = HashMap::new();
    texts.iter().enumerate().for_each(|(row, text)| rows_of.entry(text).or_default().push(row));
    let mut start = 0;
    let of_list = |&list: &usize| {
        let labels = set.dataset.query_labels(list);
        let relevant = labels.iter().zip(start..).filter(|(label, _)| **label >= 1.0).map(|(_, row)| row);
        let mut rows: Vec<usize> = relevant.collect();
        for row in rows.clone().into_iter().flat_map(|row| rows_of[texts[row]].clone()) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        start += labels.len();
        rows
    };
    batch.iter().map(of_list).collect()
}
