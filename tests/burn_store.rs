//! burn-store reads the tensors of a saved ranker into another program's module, as docs/how-to/training_loop.md says.

use std::path::Path;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig, Relu};
use burn::store::{ModuleSnapshot, SafetensorsStore};
use burn::tensor::{Device, Tensor, TensorData};
use burn_rank::data::SynthConfig;
use burn_rank::ranker::Ranker;

/// A module with the fields of the perceptron in the ranker.
#[derive(Module, Debug)]
struct Network {
    hidden: Vec<Linear>,
    output: Linear,
}

impl Network {
    fn new(sizes: &[usize], device: &Device) -> Self {
        let layer = |two: &[usize]| LinearConfig::new(two[0], two[1]).init(device);
        let hidden = sizes.windows(2).map(layer).collect();
        Self { hidden, output: layer(&[sizes[sizes.len() - 1], 1]) }
    }

    fn forward(&self, documents: Tensor<2>) -> Tensor<1> {
        let last = self.hidden.iter().fold(documents, |of, layer| Relu::new().forward(layer.forward(of)));
        self.output.forward(last).squeeze_dim(1)
    }
}

#[test]
fn burn_store_reads_the_tensors_of_a_saved_ranker() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/synth-mlp.safetensors");
    let device = Device::flex();
    let ranker = Ranker::load(&path, &device).unwrap();
    let mut data = SynthConfig { queries: 4, features: 136, ..SynthConfig::default() }.generate().unwrap();
    let expected = ranker.predict(&data, &device).unwrap();

    let mut network = Network::new(&[136, 32, 16], &device);
    // The names of the tensors begin with the kind of the scorer.
    let mut store = SafetensorsStore::from_file(&path).with_key_remapping(r"^Mlp\.", "");
    let result = network.load_from(&mut store).unwrap();
    assert!(result.errors.is_empty() && result.missing.is_empty() && result.unused.is_empty(), "{result:?}");

    ranker.normalizer().apply(&mut data).unwrap();
    let shape = [data.documents(), data.feature_count];
    let values: Vec<f32> = (0..data.documents()).flat_map(|document| data.row(document).to_vec()).collect();
    let scores = network.forward(Tensor::from_data(TensorData::new(values, shape), &device));
    let found: Vec<f32> = scores.into_data().iter::<f32>().collect();
    assert!(expected.iter().any(|score| (score - expected[0]).abs() > 0.1), "the scores differ");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}
