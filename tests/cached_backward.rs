//! `cached_backward` compared with the same chunks in one graph. It runs in a separate process, since burn has one
//! generator of random numbers per process.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use burn::module::{Module, ModuleMapper, Param};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Distribution, Tensor};
use burn_rank::prelude::*;
use burn_rank::seed::seed_for;
use burn_rank::{CachedBackwardError, cached_backward};

/// Held by each test: no other one may draw meanwhile.
fn generator() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Module, Debug)]
struct Network {
    hidden: Linear,
    dropout: Dropout,
    output: Linear,
}

impl Network {
    fn new(device: &Device, dtype: DType) -> Self {
        device.seed(3);
        let hidden = LinearConfig::new(6, 16).init(device);
        // A ranking loss does not see what all scores share.
        let output = LinearConfig::new(16, 1).with_bias(false).init(device);
        Self { hidden, dropout: DropoutConfig::new(0.4).init(), output }.map(&mut Typed(dtype))
    }

    fn score(&self, documents: &Tensor<2>) -> Tensor<1> {
        let hidden = self.dropout.forward(self.hidden.forward(documents.clone()).tanh());
        self.output.forward(hidden).squeeze_dim(1)
    }
}

/// Gives parameters a type.
struct Typed(DType);

impl ModuleMapper for Typed {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| {
            let device = tensor.device();
            Tensor::from_data(tensor.into_data().convert_dtype(self.0), (&device, self.0)).require_grad()
        })
    }
}

/// The gradients of all parameters.
fn gradients(network: &Network, gradients: &GradientsParams) -> Vec<Vec<f64>> {
    let of_weight = |id| gradients.get::<2>(id).unwrap().into_data().iter::<f64>().collect();
    let of_bias = gradients.get::<1>(network.hidden.bias.as_ref().unwrap().id).unwrap();
    let of_bias = of_bias.into_data().iter::<f64>().collect();
    vec![of_weight(network.hidden.weight.id), of_bias, of_weight(network.output.weight.id)]
}

fn data(device: &Device, dtype: DType) -> (Vec<Tensor<2>>, Tensor<1>, Segments) {
    device.seed(5);
    let documents = Tensor::<2>::random([37, 6], Distribution::Normal(0.0, 1.0), device).cast(dtype);
    let labels = Tensor::<1>::random([37], Distribution::Uniform(0.0, 4.0), device).cast(dtype).floor();
    // Lists do not end where chunks do.
    (documents.split(7, 0), labels, Segments::from_lengths(&[20, 5, 12]).unwrap())
}

#[test]
fn the_gradient_is_that_of_the_same_chunks_and_seeds_in_one_graph() {
    let _generator = generator();
    for device in [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()] {
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-12)] {
            let network = Network::new(&device, dtype);
            let (chunks, labels, segments) = data(&device, dtype);
            let loss = ApproxNdcgConfig::new().init().unwrap();
            let of = |scores| loss.forward_packed(scores, labels.clone(), &segments, Reduction::Mean);
            let (value, found) = cached_backward(&network, &chunks, Network::score, of, 11).unwrap();

            let in_one = chunks.iter().enumerate().map(|(chunk, documents)| {
                device.seed(seed_for(11, "chunk", chunk as u64));
                network.score(documents)
            });
            let whole = of(Tensor::cat(in_one.collect(), 0));
            assert_eq!(value.into_data(), whole.clone().detach().into_data());
            let expected = GradientsParams::from_grads(whole.backward(), &network);
            let (found, expected) = (gradients(&network, &found), gradients(&network, &expected));
            for (found, expected) in found.iter().zip(&expected) {
                let largest = expected.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
                assert!(largest > 0.0);
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found - expected).abs() <= tolerance * largest, "{dtype:?}: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn dropout_is_on_and_follows_the_seed() {
    let _generator = generator();
    let device = Device::flex().autodiff();
    let network = Network::new(&device, DType::F32);
    let (chunks, labels, segments) = data(&device, DType::F32);
    let loss = ApproxNdcgConfig::new().init().unwrap();
    let of = |seed| {
        let loss = |scores| loss.forward_packed(scores, labels.clone(), &segments, Reduction::Mean);
        let (value, found) = cached_backward(&network, &chunks, Network::score, loss, seed).unwrap();
        (value.into_scalar::<f32>(), gradients(&network, &found))
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).0, of(2).0);
}

#[test]
fn what_would_give_a_wrong_gradient_is_refused_with_its_chunk() {
    let _generator = generator();
    let device = Device::flex().autodiff();
    let network = Network::new(&device, DType::F32);
    let (chunks, ..) = data(&device, DType::F32);
    let refused = |chunks: &[Tensor<2>], score: &dyn Fn(&Network, &Tensor<2>) -> Tensor<1>| {
        cached_backward(&network, chunks, score, |scores| scores.sum(), 1).map(|_| ()).unwrap_err()
    };
    let calls = Cell::new(0);
    let moving = refused(&chunks, &|network, chunk| {
        calls.set(calls.get() + 1);
        let scores = network.score(chunk);
        // Another score in the second pass of the third chunk.
        if calls.get() == chunks.len() + 3 { scores + 0.5 } else { scores }
    });
    assert!(matches!(moving, CachedBackwardError::Score { chunk: 2, score: 0, .. }), "{moving}");
    assert!(moving.to_string().starts_with("chunk 3, score 1: "), "{moving}");
    calls.set(0);
    let shorter = refused(&chunks, &|network, chunk| {
        calls.set(calls.get() + 1);
        let scores = network.score(chunk);
        if calls.get() > chunks.len() { scores.narrow(0, 0, 2) } else { scores }
    });
    assert_eq!(shorter, CachedBackwardError::Number { chunk: 0, first: 7, second: 2 });
    assert_eq!(refused(&[], &Network::score), CachedBackwardError::NoChunk);
    let none = refused(&chunks, &|network, _| Tensor::zeros([0], &network.output.weight.device()));
    assert_eq!(none, CachedBackwardError::NoScore { chunk: 0 });
    let constant = refused(&chunks, &|network, chunk| network.score(chunk).detach());
    assert_eq!(constant, CachedBackwardError::NoGradient { chunk: 0 });
    let vector = cached_backward(&network, &chunks, Network::score, |scores| scores, 1).map(|_| ()).unwrap_err();
    assert_eq!(vector.to_string(), "the loss is [37], expected [1]");
    let detached = cached_backward(&network, &chunks, Network::score, |scores| scores.detach().sum(), 1);
    assert_eq!(detached.map(|_| ()).unwrap_err(), CachedBackwardError::ConstantLoss);
}

/// burn draws the parameters of a layer when they are first used.
#[test]
fn a_model_that_has_not_been_used_is_drawn_once() {
    let _generator = generator();
    let device = Device::flex().autodiff();
    let model = LinearConfig::new(6, 1).init(&device);
    let (chunks, labels, segments) = data(&device, DType::F32);
    let loss = ListNetConfig::new().init().unwrap();
    let score = |model: &Linear, chunk: &Tensor<2>| model.forward(chunk.clone()).squeeze_dim(1);
    let of = |scores| loss.forward_packed(scores, labels.clone(), &segments, Reduction::Mean);
    let (_, found) = cached_backward(&model, &chunks, score, of, 1).unwrap();
    assert!(found.get::<2>(model.weight.id).is_some());
}
