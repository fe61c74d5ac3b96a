//! Properties that every scorer must have.

use burn::tensor::{Bool, Device, Tensor, TensorData};

use super::*;

fn every_config() -> Vec<ScorerConfig> {
    let mlp = |norm| {
        ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![8, 4], activation: Activation::Gelu, dropout: 0.2, norm })
    };
    let attention = AttentionScorerConfig { width: 8, heads: 2, blocks: 2, feed_forward: 16, dropout: 0.2 };
    vec![
        ScorerConfig::Linear(LinearScorerConfig { bias: true }),
        mlp(NormKind::None),
        mlp(NormKind::Layer),
        mlp(NormKind::Batch),
        ScorerConfig::Attention(attention),
    ]
}

const LENGTHS: [usize; 3] = [4, 1, 2];

fn feature(query: usize, document: usize, feature: usize) -> f32 {
    ((query * 31 + document * 17 + feature * 7) % 23) as f32 / 11.0 - 1.0
}

/// Creates three lists in 4 places with 3 features per document; padded places hold `garbage`.
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
        assert_eq!(same, !matches!(config, ScorerConfig::Attention(_)), "{config:?}");
    }
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
    assert!(ScorerConfig::default().init(0, 1, &Device::flex()).is_err());
    let wide = read(r#"{"kind": "mlp", "hidden": [1000000, 1000000]}"#).unwrap();
    let error = wide.init(3, 1, &Device::flex()).unwrap_err().to_string();
    assert_eq!(error, "scorer.parameters = 1000006000001: expected at most 268435456");
}
