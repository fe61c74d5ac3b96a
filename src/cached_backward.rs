//! Computes gradients of a loss over more documents than fit in memory at once.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{DType, Tensor};

use crate::device::in_host_memory;
use crate::seed::seed_for;

/// The reason why [`cached_backward`] returns no gradient. Fields count chunks from 0, but messages count them from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CachedBackwardError {
    /// No chunk at all.
    #[error("no chunk, expected one or more")]
    NoChunk,
    /// A chunk has no score.
    #[error("chunk {}: no score, expected one or more", .chunk + 1)]
    NoScore {
        /// The chunk.
        chunk: usize,
    },
    /// The loss is not a single number.
    #[error("the loss is {found:?}, expected [1]")]
    Loss {
        /// The shape of the tensor that `loss` returned.
        found: Vec<usize>,
    },
    /// The loss carries no gradient to the scores, so no parameter would change.
    #[error("the loss carries no gradient, expected one that is computed from the scores that `loss` receives")]
    ConstantLoss,
    /// The scores carry no gradient.
    #[error(
        "chunk {}: the scores carry no gradient, expected the scores of a model on an autodiff device with a parameter \
         that requires one",
        .chunk + 1
    )]
    NoGradient {
        /// The chunk.
        chunk: usize,
    },
    /// A chunk has different numbers of scores in the two passes.
    #[error("chunk {}: {second} scores in the second pass, expected the {first} of the first pass", .chunk + 1)]
    Number {
        /// The chunk.
        chunk: usize,
        /// The number of scores in the first pass.
        first: usize,
        /// The number of scores in the second pass.
        second: usize,
    },
    /// A score differs between the two passes, so the gradient would be wrong.
    #[error(
        "chunk {}, score {}: {second} in the second pass, expected the {first} of the first pass: no other thread may draw \
         from burn's generator, and `score` may keep no state",
        .chunk + 1,
        .score + 1
    )]
    Score {
        /// The chunk.
        chunk: usize,
        /// The index of the score in its chunk, from 0.
        score: usize,
        /// The value of the score in the first pass.
        first: f64,
        /// The value of the score in the second pass.
        second: f64,
    },
}

/// Computes a loss on the scores of all chunks, and its gradient, with only one chunk's activations in memory at a
/// time.
///
/// A first pass computes the scores of each chunk without recording operations. The loss then provides its gradient
/// with respect to the scores of all chunks. A second pass computes and records the scores of each chunk again, and
/// propagates the gradient to the parameters. The gradients of chunks are added in the order of the chunks. With this
/// method, a training step on many long lists holds the activations of only a few documents in memory. The cost is
/// about one more forward pass (Gao et al., Scaling deep contrastive learning batch size under memory limited setup,
/// 2021).
///
/// * `score` returns the scores of a chunk, `[documents]`. Both calls of `score` for a chunk use the same seed, so
///   dropout stays on and drops the same neurons. Both calls to `score` for a chunk must return the same scores. On the
///   CPU they must be bit-identical; elsewhere they may differ by at most 1e-5 times the largest score, or 4 times the
///   machine epsilon of half precision.
/// * `loss` maps the concatenated scores of all chunks to a tensor of shape `[1]`, as
///   [`forward_packed`](crate::loss::RankingLoss::forward_packed) does.
/// * Chunk `i` is scored with the seed `seed_for(seed, "chunk", i)`; see [`seed_for`]. Pass a different `seed` in each
///   step.
///
/// Returns the detached loss, `[1]`, and the gradient of each parameter, as `GradientsParams::from_grads` does.
///
/// # Limits
/// burn has only one random number generator per process, so no other thread may draw from it during the call. The call
/// leaves the generator seeded for its last chunk, so `seed` also determines what your program draws afterwards. Batch
/// norm sees only one chunk at a time, and sees each chunk twice.
///
/// # Errors
/// Returns [`CachedBackwardError`], whose message names the chunk.
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
    let gradient = if value.is_tracked() { all.grad(&value.backward()) } else { None };
    let gradient = gradient.ok_or(CachedBackwardError::ConstantLoss)?;
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

/// Initializes the parameters that a model would otherwise initialize at their first use.
struct Drawn;

impl ModuleVisitor for Drawn {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        param.val();
    }
}

/// Returns the largest allowed difference between the scores of the two passes, relative to the largest score, on
/// devices that add numbers in no fixed order.
fn tolerance(scores: DType) -> f64 {
    match scores {
        DType::F16 => 4.0 * 2f64.powi(-10),
        DType::BF16 => 4.0 * 2f64.powi(-7),
        _ => 1e-5,
    }
}

/// Checks that both passes gave the same scores.
fn check_same(chunk: usize, first: Tensor<1>, second: Tensor<1>) -> Result<(), CachedBackwardError> {
    let [counts, other] = [first.dims()[0], second.dims()[0]];
    if counts != other {
        return Err(CachedBackwardError::Number { chunk, first: counts, second: other });
    }
    let (is_exact, tolerance) = (in_host_memory(&first.device().inner()), tolerance(first.dtype()));
    let [first, second] = [first, second].map(|scores| scores.into_data().iter::<f64>().collect::<Vec<f64>>());
    let largest = first.iter().fold(0.0, |largest: f64, score| largest.max(score.abs()));
    let is_same = |first: f64, second: f64| {
        first.to_bits() == second.to_bits()
            || first.is_nan() && second.is_nan()
            || !is_exact && (first - second).abs() <= tolerance * largest
    };
    let different = first.iter().zip(&second).position(|(&first, &second)| !is_same(first, second));
    different.map_or(Ok(()), |score| {
        Err(CachedBackwardError::Score { chunk, score, first: first[score], second: second[score] })
    })
}
