//! Losses at their defaults train a model from scratch.

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use burn_rank::loss::{Change, LossSpec, MeasureName, Orientation, RankingLoss, Reduction, RelaxationName, registry};
use burn_rank::measure::{Convention, Measure};
use burn_rank::metric::evaluate;
use burn_rank::scorer::{AttentionScorerConfig, ScorerConfig};
use burn_rank::seed::seed_for;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const FEATURES: usize = 8;

/// Every surrogate of NDCG and DCG, as they are where nothing is said.
fn surrogates() -> Vec<LossSpec> {
    let of_gains = |name: &str| name.ends_with("ndcg") || name.ends_with("dcg") || name == "stochastic_rank";
    let named = registry::LOSSES.iter().filter(|entry| of_gains(entry.name)).map(|entry| LossSpec::new(entry.name));
    let named = named.filter(|spec| spec.build().unwrap().about().orientation != Orientation::Loss);
    let cells = [MeasureName::Ndcg, MeasureName::Dcg].into_iter().flat_map(|measure| {
        let of =
            move |relaxation: &RelaxationName| LossSpec::parse(&format!("{}:{}", measure.name(), relaxation.name()));
        RelaxationName::ALL.iter().map(of)
    });
    named.chain(cells).collect()
}

/// NDCG@10 of three lists, of ten documents in all, after 100 steps of Adam.
fn overfitted(loss: &dyn RankingLoss, seed: u64) -> f64 {
    let device = Device::flex().autodiff();
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "overfit", 0));
    let features: Vec<f32> = (0..3 * 4 * FEATURES).map(|_| random.random_range(-1.0..1.0)).collect();
    let documents = Tensor::<3>::from_data(TensorData::new(features, [3, 4, FEATURES]), &device);
    let labels = Tensor::<2>::from_floats([[0.0, 2.0, 1.0, 0.0], [1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 1.0]], &device);
    let mask =
        Tensor::<2>::from_floats([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0; 4]], &device).greater_elem(0.5);
    let block = AttentionScorerConfig { blocks: 1, dropout: 0.0, ..AttentionScorerConfig::default() };
    let mut model = ScorerConfig::Attention(block).init(FEATURES, seed, &device).unwrap();
    let mut optimizer = AdamConfig::new().init();
    for step in 0..100 {
        let drawn = loss.changed(Change::Noise(&|seed| seed + step)).unwrap();
        let scores = model.forward(documents.clone(), mask.clone());
        let loss = drawn.as_deref().unwrap_or(loss);
        let value = loss.forward(scores, labels.clone(), mask.clone(), Reduction::Mean);
        let gradients = GradientsParams::from_grads(value.backward(), &model);
        model = optimizer.step(0.01, model, gradients);
    }
    let scores = model.forward(documents, mask.clone());
    let found = evaluate(scores, labels, mask, &[Measure::Ndcg(Some(10))], &Convention::default()).unwrap();
    found.means[0].1
}

#[test]
fn every_surrogate_of_ndcg_and_dcg_overfits_three_lists_at_its_defaults() {
    let mut short = Vec::new();
    for spec in surrogates() {
        let loss = spec.build().unwrap();
        let found = [1, 2, 3].map(|seed| overfitted(&*loss, seed));
        if !found.iter().all(|ndcg| *ndcg >= 0.99) {
            short.push(format!("{spec}: {found:.3?}"));
        }
    }
    assert!(short.is_empty(), "{short:#?}");
}
