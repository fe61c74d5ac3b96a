//! Losses as parts of a burn module.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::store::ModuleRecord;
use burn::tensor::{Device, Tensor};
use burn_rank::loss::{MeasureName, RelaxationName, RelaxedMeasureConfig, Surrogate};
use burn_rank::prelude::*;
use burn_rank::workbench::registry;

/// A user's model that holds every loss, by its registered name, next to a module to train.
macro_rules! holder {
    ($($folder:ident $field:ident $loss:ident $config:ident;)+) => {
        #[derive(Module, Debug)]
        struct Holder {
            linear: Linear,
            ndcg: Surrogate,
            precision: Surrogate,
            $($field: $loss,)+
        }

        impl Holder {
            fn new(device: &Device) -> Self {
                let through = |measure| RelaxedMeasureConfig::of(measure, RelaxationName::SoftSort).with_k(Some(2)).init().unwrap();
                Self {
                    linear: LinearConfig::new(3, 1).init(device),
                    ndcg: through(MeasureName::Ndcg),
                    precision: through(MeasureName::Precision),
                    $($field: $config::new().init().unwrap(),)+
                }
            }

            fn losses(&self) -> Vec<(&'static str, &dyn RankingLoss)> {
                vec![$((stringify!($field), &self.$field as &dyn RankingLoss),)+]
            }
        }
    };
}

burn_rank::every_loss!(holder);

/// Computes every loss of the model for the same three documents, then its two surrogates.
fn values(model: &Holder, device: &Device) -> Vec<f32> {
    let documents = Tensor::<3>::from_floats([[[0.1, 0.2, 0.3], [1.0, -1.0, 0.5], [0.0, 0.7, -0.2]]], device);
    let scores = model.linear.forward(documents).squeeze_dim::<2>(2);
    let labels = Tensor::<2>::from_floats([[2.0, 0.0, 1.0]], device);
    let mask = Tensor::<2>::ones([1, 3], device).greater_elem(0.0);
    let surrogates: [(&str, &dyn RankingLoss); 2] = [("ndcg", &model.ndcg), ("precision", &model.precision)];
    let losses = model.losses().into_iter().chain(surrogates);
    let of = |loss: &dyn RankingLoss| loss.forward(scores.clone(), labels.clone(), mask.clone(), Reduction::Mean);
    losses.map(|(_, loss)| of(loss).into_scalar::<f32>()).collect()
}

#[test]
fn a_users_module_can_hold_every_loss() {
    let device = Device::flex();
    device.seed(1);
    let model = Holder::new(&device);
    for ((field, loss), entry) in model.losses().iter().zip(registry::LOSSES) {
        assert_eq!((*field, loss.about().name), (entry.name, entry.name));
    }
    assert_eq!(model.losses().len(), registry::LOSSES.len(), "a loss that no model can hold");

    // A loss has no parameters, and does not change on the way to training and back, or to another device.
    assert_eq!(model.num_params(), 3 + 1);
    let expected = values(&model, &device);
    let training = model.clone().train();
    // burn's softmax rounds differently under automatic differentiation.
    for (found, expected) in values(&training, &device.clone().autodiff()).iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
    }
    assert_eq!(values(&training.valid().fork(&device), &device), expected);

    // Its record holds the scorer; loading it into a model with other weights gives the first one.
    let record = model.clone().into_record().into_bytes().unwrap();
    let other = Holder::new(&device);
    assert_ne!(values(&other, &device), expected);
    let loaded = other.try_load_record(ModuleRecord::from_bytes(record).unwrap()).unwrap();
    assert_eq!(values(&loaded, &device), expected);

    // It prints with its parameters.
    let text = model.to_string();
    let temperature = format!("{:?}", SoftNdcgConfig::new().temperature);
    for part in
        ["soft_ndcg: Surrogate", "name: \"soft_ndcg\"", &temperature, "ndcg: Surrogate", "relaxation: soft_sort"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A measure that cannot be cloned can still be made a loss.
#[test]
fn a_surrogate_outside_a_module_needs_no_clone() {
    #[derive(Debug)]
    struct Relevant;
    impl burn_rank::loss::PositionMeasure for Relevant {
        fn name(&self) -> &'static str {
            "relevant"
        }
        fn value(&self, list: &burn_rank::loss::MeasureContext) -> Tensor<1> {
            list.sum(list.relevance(), &burn_rank::loss::PositionFunction::one(), Some(1))
        }
    }
    assert_eq!(RelaxedMeasureConfig::new().init_measure(Relevant).unwrap().about().name, "relevant");
}
