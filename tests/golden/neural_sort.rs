//! NeuralSort of TF-Ranking, `expected/tfr_losses.json`: the matrix, and the loss that is NeuralNDCG without scaling.

use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use burn_rank::loss::{Lists, LossSpec, neural_sort};
use serde_json::Value;

fn case(id: &str) -> Value {
    let file: Value = crate::common::expected_json("tfr_losses.json");
    let found = file["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).cloned();
    found.unwrap_or_else(|| panic!("no case {id}"))
}

fn numbers(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

fn tensor(rows: &[Vec<f64>]) -> Tensor<2> {
    let data = TensorData::new(rows.concat(), [rows.len(), rows[0].len()]);
    Tensor::from_data(data, (&Device::flex(), DType::F64))
}

#[test]
fn the_matrix_agrees_where_there_are_documents() {
    let case = case("UtilsTest.test_neural_sort_should_handle_mask#0");
    let scores = numbers(&case["inputs"]["scores"]);
    let mask: Vec<Vec<bool>> = serde_json::from_value(case["inputs"]["mask"].clone()).unwrap();
    let shape = [1, scores[0].len()];
    let mask_tensor = Tensor::<2, Bool>::from_data(TensorData::new(mask[0].clone(), shape), &Device::flex());
    let scores = tensor(&scores);
    let matrix = neural_sort(&Lists::padded(scores.clone(), scores, mask_tensor), 1.0);
    let found: Vec<f64> = matrix.into_data().iter::<f64>().collect();
    let expected: Vec<Vec<Vec<f64>>> = serde_json::from_value(case["expected"].clone()).unwrap();
    let documents = mask[0].iter().filter(|document| **document).count();
    for (row, expected) in expected[0].iter().take(documents).enumerate() {
        for (column, expected) in expected.iter().enumerate() {
            let found = found[row * shape[1] + column];
            assert!((found - expected).abs() < 1e-5, "rank {row}, document {column}: {found} {expected}");
        }
    }
}

#[test]
fn the_loss_without_scaling_agrees() {
    for id in ["test_neural_sort_ndcg_loss#0", "test_neural_sort_ndcg_loss_should_ignore_invalid_items#0"] {
        let case = case(&format!("NeuralSortNDCGLossTest.{id}"));
        let labels = numbers(&case["inputs"]["labels"]);
        let scores = tensor(&numbers(&case["inputs"]["scores"]));
        let mask = tensor(&labels).greater_equal_elem(0.0);
        let temperature = case["params"]["temperature"].as_f64().unwrap();
        let spec = LossSpec::new("neural_ndcg").with("iterations", 0).with("temperature", temperature);
        let loss = spec.build().unwrap();
        let losses = loss.forward_no_reduction(scores.clone(), tensor(&labels), mask);
        // A list without a relevant document has weight 0 there and loss 0 here.
        let learnable = labels.iter().filter(|list| list.iter().any(|label| *label > 0.0)).count() as f64;
        let found = losses.into_data().iter::<f64>().sum::<f64>() - learnable;
        let expected = case["expected"].as_f64().unwrap();
        assert!((found - expected).abs() < 5e-5, "{id}: {found} {expected}");
    }
}
