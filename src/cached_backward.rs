//! Gradients of a loss over more documents than a model can hold at once.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;

use crate::device::in_host_memory;
use crate::seed::seed_for;

/// Reason that [`cached_backward`] gives no gradient. Chunks count from 0 in the fields and from 1 in the messages.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CachedBackwardError {
    /// No chunk at all.
    #[error("no chunk, expected one or more")]
    NoChunk,
    /// A chunk without a score.
    #[error("chunk {}: no score, expected one or more", .chunk + 1)]
    NoScore {
        /// The chunk.
        chunk: usize,
    },
    /// A loss that is not one number.
    #[error("the loss is {found:?}, expected [1]")]
    Loss {
        /// The shape of the loss.
        found: Vec<usize>,
    },
    /// Scores that carry no gradient.
    #[error(
        "chunk {}: the scores carry no gradient, expected those of a model on an autodiff device with a parameter that \
         requires one",
        .chunk + 1
    )]
    NoGradient {
        /// The chunk.
        chunk: usize,
    },
    /// Another number of scores in the second pass than in the first.
    #[error("chunk {}: {second} scores in the second pass, expected the {first} of the first pass", .chunk + 1)]
    Number {
        /// The chunk.
        chunk: usize,
        /// Number of scores in the first pass.
        first: usize,
        /// Number of scores in the second pass.
        second: usize,
    },
    /// A score that differs between the passes: the gradient would belong to neither.
    #[error(
        "chunk {}, score {}: {second} in the second pass, expected the {first} of the first pass: no other thread may draw \
         from burn's generator, and `score` may keep no state",
        .chunk + 1,
        .score + 1
    )]
    Score {
        /// The chunk.
        chunk: usize,
        /// The score in its chunk, from 0.
        score: usize,
        /// The value of the score in the first pass.
        first: f64,
        /// The value of the score in the second pass.
        second: f64,
    },
}

/// The value and the gradient of a loss that sees the scores of all chunks at once, in the memory of one chunk.
///
/// A first pass computes the scores of each chunk and records nothing. The loss gives the gradient by the scores. A
/// second pass computes the scores of each chunk again, now recorded, and continues the gradient to the parameters. The
/// chunks are added in their order. So a step of many long lists fits where a few documents do, for about the time of
/// one more forward pass (Gao et al., Scaling deep contrastive learning batch size under memory limited setup, 2021).
///
/// * `score` gives the scores of a chunk, `[documents]`. It is called twice with the same seed, so dropout, which stays on,
///   drops the same neurons. The same scores must come back: to the bit on the CPU, within 1e-5 of the largest elsewhere.
/// * `loss` takes the scores of all chunks, one after another, to `[1]`.
///   [`forward_packed`](crate::loss::RankingLoss::forward_packed) does.
/// * Chunk `i` is scored under the seed `seed_for(seed, "chunk", i)` of [`seed_for`]: pass another `seed` in each step.
///
/// Returns the loss, `[1]`, detached, and the gradient of each parameter, as `GradientsParams::from_grads` gives it.
///
/// # Limits
/// burn has one generator of random numbers per process: no other thread may draw from it meanwhile. A chunk is all that
/// batch norm sees at a time, and it sees each chunk twice.
///
/// # Errors
/// [`CachedBackwardError`]; the message names the chunk.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::optim::AdamConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use burn_rank::cached_backward;
/// use burn_rank::prelude::*;
///
/// let device = Device::flex().autodiff();
/// let model = LinearConfig::new(4, 1).init(&device);
/// // 20 documents of two queries, at most 8 at a time.
/// let documents = Tensor::<2>::random([20, 4], Distribution::Default, &device);
/// let labels = Tensor::<1>::random([20], Distribution::Bernoulli(0.5), &device);
/// let segments = Segments::from_lengths(&[13, 7])?;
/// let loss = ListNetConfig::new().init()?;
///
/// let (value, gradients) = cached_backward(
///     &model,
///     &documents.split(8, 0),
///     |model, chunk| model.forward(chunk.clone()).squeeze_dim(1),
///     |scores| loss.forward_packed(scores, labels.clone(), &segments, Reduction::Mean),
///     1, // the step
/// )?;
/// let model = AdamConfig::new().init().step(0.01, model, gradients);
/// # let _ = (value, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cached_backward<M: Module, C>(
    model: &M,
    chunks: &[C],
    score: impl Fn(&M, &C) -> Tensor<1>,
    loss: impl Fn(Tensor<1>) -> Tensor<1>,
    seed: u64,
) -> Result<(Tensor<1>, GradientsParams), CachedBackwardError> {
    // A clone would draw its own.
    model.visit(&mut Drawn);
    let devices = model.devices();
    let seeded = |model: &M, chunk: usize| {
        devices.iter().for_each(|device| device.seed(seed_for(seed, "chunk", chunk as u64)));
        score(model, &chunks[chunk])
    };
    let unrecorded = model.clone().no_grad();
    let mut first = Vec::with_capacity(chunks.len());
    let mut places: Vec<Range<usize>> = Vec::with_capacity(chunks.len());
    for chunk in 0..chunks.len() {
        let scores = seeded(&unrecorded, chunk).detach();
        let start = places.last().map_or(0, |last| last.end);
        let [count] = scores.dims();
        if count == 0 {
            return Err(CachedBackwardError::NoScore { chunk });
        }
        places.push(start..start + count);
        first.push(scores);
    }
    drop(unrecorded);
    if first.is_empty() {
        return Err(CachedBackwardError::NoChunk);
    }

    let all = Tensor::cat(first.clone(), 0).autodiff().require_grad();
    let value = loss(all.clone());
    if value.dims() != [1] {
        return Err(CachedBackwardError::Loss { found: value.dims().into() });
    }
    // A loss that does not depend on the scores leaves no gradient.
    let gradient = if value.is_tracked() { all.grad(&value.backward()) } else { None };
    let gradient = gradient.unwrap_or_else(|| all.clone().inner().zeros_like());
    drop(all);

    let mut sum = GradientsAccumulator::new();
    for (chunk, (first, places)) in first.into_iter().zip(places).enumerate() {
        let scores = seeded(model, chunk);
        check_same(chunk, first, scores.clone().detach())?;
        let product = (scores * gradient.clone().slice(places)).sum();
        if !product.is_tracked() {
            return Err(CachedBackwardError::NoGradient { chunk });
        }
        sum.accumulate(model, GradientsParams::from_grads(product.backward(), model));
    }
    Ok((value.detach(), sum.grads()))
}

/// Draws the parameters of a model that are drawn when they are first used.
struct Drawn;

impl ModuleVisitor for Drawn {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        param.val();
    }
}

/// The largest difference of scores between the passes, over the largest score, on devices that add in any order.
const TOLERANCE: f64 = 1e-5;

/// Compares the scores of both passes.
fn check_same(chunk: usize, first: Tensor<1>, second: Tensor<1>) -> Result<(), CachedBackwardError> {
    let [counts, other] = [first.dims()[0], second.dims()[0]];
    if counts != other {
        return Err(CachedBackwardError::Number { chunk, first: counts, second: other });
    }
    let is_exact = in_host_memory(&first.device().inner());
    let [first, second] = [first, second].map(|scores| scores.into_data().iter::<f64>().collect::<Vec<f64>>());
    let largest = first.iter().fold(0.0, |largest: f64, score| largest.max(score.abs()));
    let is_same = |first: f64, second: f64| {
        first.to_bits() == second.to_bits()
            || first.is_nan() && second.is_nan()
            || !is_exact && (first - second).abs() <= TOLERANCE * largest
    };
    let different = first.iter().zip(&second).position(|(&first, &second)| !is_same(first, second));
    different.map_or(Ok(()), |score| {
        Err(CachedBackwardError::Score { chunk, score, first: first[score], second: second[score] })
    })
}
