//! Tests of properties that every scorer must have.

use burn::tensor::{Bool, Device, Tensor, TensorData};

use super::*;
use crate::execution::Execution;

fn every_config() -> Vec<ScorerConfig> {
    let mlp = |norm| {
        ScorerConfig::Mlp(MlpScorerConfig {
            hidden: vec![8, 4],
            activation: Activation::Gelu,
            dropout: 0.2,
            norm,
            ..Default::default()
        })
    };
    let attention =
        AttentionScorerConfig { width: 8, heads: 2, blocks: 2, feed_forward: 16, dropout: 0.2, ..Default::default() };
    let input = InputConfig { log1p: true, noise: 0.3 };
    let cross = LatentCrossScorerConfig {
        hidden: vec![8, 4],
        norm: NormKind::Batch,
        width: 6,
        feed_forward: 5,
        input,
        ..LatentCrossScorerConfig::default()
    };
    vec![
        ScorerConfig::Linear(LinearScorerConfig { bias: true }),
        mlp(NormKind::None),
        mlp(NormKind::Layer),
        mlp(NormKind::Batch),
        ScorerConfig::Attention(attention.clone()),
        ScorerConfig::Mlp(MlpScorerConfig { input, ..MlpScorerConfig::default() }),
        ScorerConfig::Attention(AttentionScorerConfig { input, ..attention }),
        ScorerConfig::LatentCross(cross),
    ]
}

const LENGTHS: [usize; 3] = [4, 1, 2];

fn feature(query: usize, document: usize, feature: usize) -> f32 {
    ((query * 31 + document * 17 + feature * 7) % 23) as f32 / 11.0 - 1.0
}

/// Creates three lists of up to 4 documents with 3 features each; padded positions hold `garbage`.
fn batch(garbage: f32, device: &Device) -> (Tensor<3>, Tensor<2, Bool>) {
    let mut features = Vec::new();
    let mut mask = Vec::new();
    for (query, length) in LENGTHS.into_iter().enumerate() {
        for document in 0..4 {
            mask.push(document < length);
            features.extend((0..3).map(|f| if document < length { feature(query, document, f) } else { garbage }));
        }
    }
    (
        Tensor::from_data(TensorData::new(features, [3, 4, 3]), device),
        Tensor::from_data(TensorData::new(mask, [3, 4]), device),
    )
}

fn documents_only(scores: Tensor<2>) -> Vec<f32> {
    let scores: Vec<f32> = scores.into_data().try_to_vec().unwrap();
    assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
    LENGTHS.into_iter().enumerate().flat_map(|(q, n)| scores[q * 4..q * 4 + n].to_vec()).collect()
}

#[test]
fn padding_never_leaks_into_scores_statistics_or_gradients() {
    let device = Device::flex().autodiff();
    for config in every_config() {
        let run = |garbage: f32| {
            let scorer = config.init(3, 7, &device).unwrap();
            let (features, mask) = batch(garbage, &device);
            let trained = scorer.forward_training(features.clone(), mask.clone(), 11);
            let loss = trained.clone().mask_fill(mask.clone().bool_not(), 0.0).square().sum();
            let grads = burn::optim::GradientsParams::from_grads(loss.backward(), &scorer);
            let optimized: Scorer = burn::optim::SgdConfig::new().init().step(0.1, scorer, grads);
            (documents_only(trained), documents_only(optimized.forward(features, mask)))
        };
        let clean = run(0.0);
        for garbage in [f32::NAN, 1e30, f32::INFINITY] {
            assert_eq!(run(garbage), clean, "{config:?}");
        }
    }
}

#[test]
fn attention_in_blocks_of_rows_has_the_scores_of_the_whole_matrix() {
    let device = Device::flex();
    let documents = 300;
    let values: Vec<f32> = (0..2 * documents * 3).map(|place| feature(place / 900, place / 3, place % 3)).collect();
    let features = Tensor::<3>::from_data(TensorData::new(values, [2, documents, 3]), &device);
    // The second list is shorter.
    let mask: Vec<bool> = (0..2 * documents).map(|place| place < documents + 170).collect();
    let mask = Tensor::<2, Bool>::from_data(TensorData::new(mask, [2, documents]), &device);
    let attention = AttentionScorerConfig { width: 8, heads: 2, blocks: 2, feed_forward: 16, ..Default::default() };
    let cross = LatentCrossScorerConfig { hidden: vec![8, 4], width: 6, ..LatentCrossScorerConfig::default() };
    for config in [ScorerConfig::Attention(attention), ScorerConfig::LatentCross(cross)] {
        let scorer = config.init(3, 7, &device).unwrap();
        let scores = |budget: usize| -> Vec<f32> {
            let score = || scorer.forward(features.clone(), mask.clone());
            Execution::current().with_memory_budget(budget).scope(score).into_data().try_to_vec().unwrap()
        };
        let whole = scores(256 << 20);
        let largest = whole.iter().fold(0.0f32, |largest, score| largest.max(score.abs()));
        // 12 bytes for each of 2 lists, 2 heads and 300 documents make a row: blocks of 33, of 100 and of 299 rows.
        let row = 12 * 2 * 2 * documents;
        for rows in [1, 33, 100, 299] {
            for (place, (found, expected)) in scores(rows * row).iter().zip(&whole).enumerate() {
                let counts = place < documents + 170;
                assert!(!counts || (found - expected).abs() <= 1e-6 * largest, "{rows} rows: {found} {expected}");
            }
        }
        assert_eq!(scores(300 * row), whole, "one block");
    }
}

#[test]
fn memory_of_long_lists_is_linear_in_use_and_quadratic_in_training() {
    let attention = ScorerConfig::Attention(AttentionScorerConfig::default());
    let [some, more] = [60_000, 120_000].map(|documents| attention.bytes_in_use([1, documents]));
    assert!(more < 2 * some && more < 1 << 30, "{some} {more}");
    let [some, more] = [60_000, 120_000].map(|documents| attention.bytes_in_training(10, [1, documents]));
    assert!(more > 3 * some && some > 60_000 * 60_000 * 2 * 2 * 4, "{some} {more}");
    let wide = ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![1_000_000], ..MlpScorerConfig::default() });
    assert!(wide.bytes_in_training(10, [64, 1024]) > 1_000_000 * 64 * 1024 * 4);
    let none = ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![usize::MAX; 3], ..MlpScorerConfig::default() });
    assert_eq!(none.bytes_in_training(usize::MAX, [usize::MAX; 2]), u64::MAX);
}

/// The gradient of every parameter, in the order in which a visitor sees them.
struct Collected<'a>(&'a burn::optim::GradientsParams, Vec<f32>);

impl burn::module::ModuleVisitor for Collected<'_> {
    fn visit_float<const D: usize>(&mut self, param: &burn::module::Param<Tensor<D>>) {
        if let Some(gradient) = self.0.get::<D>(param.id) {
            assert_eq!(gradient.dtype(), param.val().dtype());
            self.1.extend(gradient.into_data().iter::<f32>());
        }
    }
}

#[test]
fn layers_in_16_bits_give_scores_and_gradients_within_rounding() {
    let device = Device::flex().autodiff();
    let activations = [Activation::LeakyRelu, Activation::Silu, Activation::Tanh, Activation::Sigmoid];
    let perceptrons =
        activations.map(|activation| ScorerConfig::Mlp(MlpScorerConfig { activation, ..MlpScorerConfig::default() }));
    for config in every_config().into_iter().chain(perceptrons) {
        let run = |layers: Option<FloatDType>| {
            let scorer = config.init(3, 7, &device).unwrap();
            let (features, mask) = batch(0.0, &device);
            let noise = noise_seeds(11, 0..3);
            let scores = scorer.score(features, mask.clone(), &mut Dropout::on(11), Some(&noise), layers);
            assert_eq!(scores.dtype(), layers.unwrap_or(FloatDType::F32).into());
            let scores = scores.cast(FloatDType::F32).mask_fill(mask.bool_not(), 0.0);
            let grads = burn::optim::GradientsParams::from_grads(scores.clone().square().sum().backward(), &scorer);
            let mut collected = Collected(&grads, vec![]);
            scorer.visit(&mut collected);
            (documents_only(scores), collected.1)
        };
        let distance = |found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len());
            let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|v| v * v).sum::<f32>().sqrt();
            norm(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied())
        };
        let (scores, gradient) = run(None);
        for (layers, unit) in [(FloatDType::F16, 2f32.powi(-11)), (FloatDType::BF16, 2f32.powi(-8))] {
            let (half_scores, half_gradient) = run(Some(layers));
            let found = [distance(&half_scores, &scores), distance(&half_gradient, &gradient)];
            assert!(found.iter().all(|&found| found > 0.0 && found < 16.0 * unit), "{config:?} {layers:?}: {found:?}");
        }
    }
}

#[test]
fn scores_follow_a_permutation_of_the_documents() {
    let device = Device::flex();
    for config in every_config() {
        let scorer = config.init(3, 7, &device).unwrap();
        let (features, mask) = batch(0.0, &device);
        let scores = documents_only(scorer.forward(features.clone(), mask.clone()));
        let order = Tensor::from_data([2, 0, 3, 1], &device);
        let permuted = scorer.forward(features.narrow(0, 0, 1).select(1, order), mask.narrow(0, 0, 1));
        let permuted: Vec<f32> = permuted.into_data().try_to_vec().unwrap();
        for (place, document) in [2, 0, 3, 1].into_iter().enumerate() {
            assert!((permuted[place] - scores[document]).abs() < 1e-5, "{config:?}");
        }
    }
}

#[test]
fn attention_sees_the_list_and_the_others_do_not() {
    let device = Device::flex();
    for config in every_config() {
        let scorer = config.init(3, 7, &device).unwrap();
        let (features, mask) = batch(0.0, &device);
        let whole = documents_only(scorer.forward(features.clone(), mask.clone()));
        let first = scorer.forward(features.slice([0..1, 0..1]), mask.slice([0..1, 0..1])).into_scalar::<f32>();
        let same = (first - whole[0]).abs() < 1e-6;
        let sees = matches!(config, ScorerConfig::Attention(_) | ScorerConfig::LatentCross(_));
        assert_eq!(same, !sees, "{config:?}");
    }
}

/// Without a context, the cross multiplies by 1 and leaves the perceptron; with one, the scores match the formula.
#[test]
fn the_latent_cross_scales_the_last_hidden_neurons() {
    let device = Device::flex();
    let config = LatentCrossScorerConfig { hidden: vec![5], dropout: 0.0, ..LatentCrossScorerConfig::default() };
    let perceptron = MlpScorerConfig { hidden: vec![5], ..MlpScorerConfig::default() };
    let scorer = ScorerConfig::LatentCross(config).init(3, 7, &device).unwrap();
    // The perceptron comes first, so that the same seed gives the same one.
    let alone = ScorerConfig::Mlp(perceptron).init(3, 7, &device).unwrap();
    let (features, mask) = batch(0.0, &device);
    let scores = documents_only(scorer.forward(features.clone(), mask.clone()));
    let of_perceptron = documents_only(alone.forward(features.clone(), mask.clone()));
    assert!(scores.iter().zip(&of_perceptron).any(|(a, b)| (a - b).abs() > 1e-3), "{scores:?}");

    struct NoContext(Vec<String>);
    impl burn::module::ModuleMapper for NoContext {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.0.push(name.to_string());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.0.pop();
        }
        fn map_float<const D: usize>(
            &mut self,
            param: burn::module::Param<Tensor<D>>,
        ) -> burn::module::Param<Tensor<D>> {
            let output = self.0.iter().any(|name| name == "attention") && self.0.iter().any(|name| name == "output");
            param.map(|value| if output { value.zeros_like() } else { value })
        }
    }
    let without = scorer.map(&mut NoContext(vec![]));
    assert_eq!(documents_only(without.forward(features, mask)), of_perceptron);
}

#[test]
fn noise_is_added_in_training_alone_and_follows_the_seed() {
    let device = Device::flex();
    let input = InputConfig { log1p: false, noise: 0.5 };
    let scorer =
        ScorerConfig::Mlp(MlpScorerConfig { input, ..MlpScorerConfig::default() }).init(3, 7, &device).unwrap();
    let (features, mask) = batch(0.0, &device);
    let training = |seed| documents_only(scorer.forward_training(features.clone(), mask.clone(), seed));
    let plain = ScorerConfig::Mlp(MlpScorerConfig::default()).init(3, 7, &device).unwrap();
    let in_use = |scorer: &Scorer| documents_only(scorer.forward(features.clone(), mask.clone()));
    assert_eq!(in_use(&scorer), in_use(&plain));
    assert_eq!(training(1), training(1));
    assert_ne!(training(1), training(2));
    assert_ne!(training(1), in_use(&scorer));
}

#[test]
fn weights_follow_the_seed() {
    let device = Device::flex();
    for config in every_config() {
        let scores = |seed| {
            let (features, mask) = batch(0.0, &device);
            documents_only(config.init(3, seed, &device).unwrap().forward(features, mask))
        };
        assert_eq!(scores(1), scores(1));
        assert_ne!(scores(1), scores(2));
        assert_eq!(config.init(3, 1, &device).unwrap().features(), 3);
    }
}

#[test]
fn parameters_are_counted_before_they_are_made() {
    #[derive(Default)]
    struct Counter(usize);
    impl burn::module::ModuleVisitor for Counter {
        fn visit_float<const D: usize>(&mut self, param: &burn::module::Param<Tensor<D>>) {
            self.0 += param.val().shape().num_elements();
        }
    }
    for config in every_config() {
        let mut counter = Counter::default();
        config.init(3, 1, &Device::flex()).unwrap().visit(&mut counter);
        assert_eq!(config.parameters(3), counter.0, "{config:?}");
        assert_eq!(config.parameters(usize::MAX), usize::MAX);
    }
}

#[test]
fn configurations_are_read_by_kind_and_checked() {
    let read = |text: &str| serde_json::from_str::<ScorerConfig>(text);
    assert_eq!(read(r#"{"kind": "linear"}"#).unwrap(), ScorerConfig::default());
    let mlp = read(r#"{"kind": "mlp", "hidden": [32, 0], "norm": "batch"}"#).unwrap();
    assert_eq!(mlp.check().unwrap_err().to_string(), "scorer.hidden[1] = 0: expected at least 1 neuron");
    let unknown = read(r#"{"kind": "mlp", "hiden": [32]}"#).unwrap_err().to_string();
    assert!(unknown.contains("hiden") && unknown.contains("hidden"), "{unknown}");
    let heads = read(r#"{"kind": "attention", "heads": 3}"#).unwrap();
    assert_eq!(heads.check().unwrap_err().to_string(), "scorer.heads = 3: expected a divisor of the width 64");
    let dropout = read(r#"{"kind": "attention", "dropout": 1.0}"#).unwrap();
    assert!(dropout.check().unwrap_err().to_string().starts_with("scorer.dropout = 1: expected a probability"));
    let noise = read(r#"{"kind": "mlp", "input": {"noise": -0.5}}"#).unwrap();
    assert_eq!(
        noise.check().unwrap_err().to_string(),
        "scorer.input.noise = -0.5: expected a finite number, 0 or above"
    );
    let shallow = read(r#"{"kind": "latent_cross", "hidden": []}"#).unwrap().check().unwrap_err().to_string();
    assert_eq!(shallow, "scorer.hidden = []: expected at least one layer, whose neurons are crossed");
    let written = serde_json::to_string(&read(r#"{"kind": "mlp"}"#).unwrap()).unwrap();
    assert!(!written.contains("input"), "as before there was one: {written}");
    assert!(ScorerConfig::default().init(0, 1, &Device::flex()).is_err());
    let wide = read(r#"{"kind": "mlp", "hidden": [1000000, 1000000]}"#).unwrap();
    let error = wide.init(3, 1, &Device::flex()).unwrap_err().to_string();
    assert_eq!(error, "scorer.parameters = 1000006000001: expected at most 268435456");
}
