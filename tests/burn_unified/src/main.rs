//! Losses on backends that no feature of burn-rank turned on: values and gradients are right, and a batch that does not
//! fit the memory budget is refused with the name of the feature.
//!
//! ```text
//! cargo run -p burn-unified
//! ```

use burn::remote::RemoteHost;
use burn::server::{RemoteServer, WebSocketTransport};
use burn::tensor::{Bool, Device, Tensor};
use burn_rank::loss::{Lists, LossError, LossSpec, RankingLoss, Reduction};
use burn_rank::op::Execution;
use burn_rank::workbench::registry;

type Failure = Box<dyn std::error::Error>;

const SCORES: [[f32; 5]; 2] = [[0.3, -1.2, 2.0, 0.9, -0.4], [0.1, 0.7, -0.2, 1.4, 0.0]];
const LABELS: [[f32; 5]; 2] = [[0.0, 2.0, 1.0, 3.0, 0.0], [1.0, 0.0, 2.0, 0.0, 0.0]];

/// Half of the distance between two values of the loss.
const STEP: f32 = 1e-2;

/// A registered loss with its defaults.
fn by_name(name: &str) -> Result<Box<dyn RankingLoss>, LossError> {
    LossSpec { name: name.into(), params: Default::default() }.build()
}

fn value(loss: &dyn RankingLoss, scores: Tensor<2>) -> Result<Tensor<1>, LossError> {
    let device = scores.device();
    let mask = Tensor::<2, Bool>::full([2, 5], true, &device);
    loss.try_forward(&Lists::padded(scores, Tensor::from_floats(LABELS, &device), mask), Reduction::Sum)
}

/// The gradient of a loss against differences of its values, which know nothing of automatic differentiation.
fn check(loss: &dyn RankingLoss, device: &Device) -> Result<(), Failure> {
    let scores = Tensor::<2>::from_floats(SCORES, &device.clone().autodiff()).require_grad();
    let gradients = value(loss, scores.clone())?.backward();
    let gradient = scores.grad(&gradients).ok_or("the scores have no gradient")?;
    let gradient: Vec<f32> = gradient.into_data().iter::<f32>().collect();
    for (cell, found) in gradient.into_iter().enumerate() {
        let at = |offset: f32| -> Result<f32, LossError> {
            let mut moved = SCORES;
            moved[cell / 5][cell % 5] += offset;
            Ok(value(loss, Tensor::from_floats(moved, device))?.into_scalar::<f32>())
        };
        let expected = (at(STEP)? - at(-STEP)?) / (2.0 * STEP);
        if (found - expected).abs() > 2e-2 * (1.0 + expected.abs()) {
            return Err(format!(
                "{} on {device:?}: gradient {found} at {cell}, differences {expected}",
                loss.about().name
            )
            .into());
        }
    }
    Ok(())
}

/// With a budget of one byte every batch is refused, with the name of the feature.
fn check_refusal(device: &Device, feature: &str) -> Result<(), Failure> {
    let loss = by_name(registry::LOSSES[0].name)?;
    let small = Execution::current().with_memory_budget(1);
    match small.scope(|| value(&*loss, Tensor::from_floats(SCORES, device))) {
        Err(error @ LossError::Budget { .. }) if error.to_string().contains(&format!("feature {feature},")) => Ok(()),
        other => Err(format!("{device:?} with a budget of one byte: {other:?}").into()),
    }
}

/// A device of a server on a free port of the loopback, which runs as long as the process.
fn served() -> Result<Device, Failure> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let host = RemoteHost::websocket(&format!("ws://{}", listener.local_addr()?));
    std::thread::spawn(move || {
        RemoteServer::new([Device::flex()]).serve(WebSocketTransport::from_listener(listener)).expect("the server runs")
    });
    Ok(Device::remote_options(&host).init()?)
}

fn main() -> Result<(), Failure> {
    for (device, feature) in [(Device::flex(), "flex"), (served()?, "remote")] {
        let mut checked = 0;
        for entry in registry::LOSSES {
            let loss = by_name(entry.name)?;
            // Values of estimators jump, and those of a hinge have a corner.
            if loss.about().estimates_gradient || entry.name.contains("hinge") {
                value(&*loss, Tensor::from_floats(SCORES, &device))?;
                continue;
            }
            check(&*loss, &device)?;
            checked += 1;
        }
        check_refusal(&device, feature)?;
        println!("{device:?}: {checked} gradients of losses agree with differences");
    }
    Ok(())
}
