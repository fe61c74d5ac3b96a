//! Encodes the loss and the gradients of a shard as bytes, in order to exchange them in a group. Numbers are
//! stored as 32-bit floats, in the order in which a module visits its parameters.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use super::model::RankingModel;
use crate::device::count_read;

/// Encodes a loss, `[1]`, and the gradients of a model's parameters.
pub(super) fn to_bytes(model: &RankingModel, loss: Tensor<1>, grads: GradientsParams) -> Vec<u8> {
    let mut writer = Writer { grads, bytes: Vec::new() };
    writer.write(loss);
    model.visit(&mut writer);
    writer.bytes
}

/// Decodes the result of [`to_bytes`] for a model with the same parameters.
pub(super) fn from_bytes(model: &RankingModel, bytes: &[u8]) -> (Tensor<1>, GradientsParams) {
    let device = model.devices()[0].clone().inner();
    let mut reader = Reader { bytes, device, grads: GradientsParams::new() };
    let loss = reader.read([1]);
    model.visit(&mut reader);
    (loss, reader.grads)
}

struct Writer {
    grads: GradientsParams,
    bytes: Vec<u8>,
}

impl Writer {
    fn write<const D: usize>(&mut self, tensor: Tensor<D>) {
        count_read();
        self.bytes.extend(tensor.into_data().iter::<f32>().flat_map(f32::to_le_bytes));
    }
}

impl ModuleVisitor for Writer {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.grads.remove::<D>(param.id);
        self.bytes.push(gradient.is_some().into());
        if let Some(gradient) = gradient {
            self.write(gradient);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    device: Device,
    grads: GradientsParams,
}

impl Reader<'_> {
    fn read<const D: usize>(&mut self, shape: [usize; D]) -> Tensor<D> {
        let (own, rest) = self.bytes.split_at(size_of::<f32>() * shape.iter().product::<usize>());
        self.bytes = rest;
        let values = own.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }
}

impl ModuleVisitor for Reader<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some((is_there, rest)) = self.bytes.split_first() else { return };
        self.bytes = rest;
        if *is_there == 1 {
            let gradient = self.read(param.dims());
            self.grads.register::<D>(param.id, gradient);
        }
    }
}
