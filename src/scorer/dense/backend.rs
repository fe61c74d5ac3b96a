//! The fused dense layer, as an extension of burn's backends. Only the Flex backend has a fused kernel.

use burn::backend::{
    Autodiff, Backend, DispatchTensor, DispatchTensorKind, Flex, TensorMetadata,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops, OpsKind},
    },
    backend_extension,
    flex::FlexTensor,
    tensor::FloatTensor,
};
use burn::tensor::DType;

use super::kernel::{self, Flow, Layer};
use crate::op::{Stored, tensor};

/// The dense layer on a backend. All inputs have the shape `[rows, inputs]`, are not empty, and have the same type,
/// `f32` or `f64`.
#[backend_extension(Autodiff, Flex)]
pub trait Dense: Backend {
    /// Computes `x weight + bias`, and sets negative results to 0 if `rectified`.
    fn dense(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self>;
}

/// Returns whether the backend of `tensor` has the fused layer.
pub fn runs_on(tensor: &DispatchTensor) -> bool {
    fn is_flex(kind: &DispatchTensorKind) -> bool {
        match kind {
            DispatchTensorKind::Autodiff(inner) => is_flex(inner),
            DispatchTensorKind::Flex(_) => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }
    is_flex(&tensor.kind)
}

fn matrix<T: Stored>(values: Vec<T>, columns: usize) -> FlexTensor {
    let shape = [values.len() / columns, columns];
    tensor(values, shape)
}

fn value<T: Stored>(x: &FlexTensor, weight: &FlexTensor, bias: &FlexTensor, rectified: bool) -> FlexTensor {
    let layer = Layer { weight: T::of_tensor(weight), bias: T::of_tensor(bias), rectified };
    matrix(kernel::value(T::of_tensor(x), layer), layer.bias.len())
}

impl Dense for Flex {
    fn dense(x: FlexTensor, weight: FlexTensor, bias: FlexTensor, rectified: bool) -> FlexTensor {
        let [x, weight, bias] = [x, weight, bias].map(|tensor| tensor.to_contiguous());
        match x.dtype() {
            DType::F64 => value::<f64>(&x, &weight, &bias, rectified),
            _ => value::<f32>(&x, &weight, &bias, rectified),
        }
    }
}

/// The inputs `x` and `weight` of a layer, its output, and the gradient of the output.
type Known = [FlexTensor; 4];

/// Returns the gradients with respect to the inputs, if `in_inputs`, and to the weights and the bias, if
/// `in_parameters`.
fn gradients<T: Stored>(
    [x, weight, out, gradient]: &Known,
    rectified: bool,
    [in_inputs, in_parameters]: [bool; 2],
) -> [Option<FlexTensor>; 3] {
    let [inputs, neurons]: [usize; 2] = weight.shape().dims();
    let rectified = rectified.then(|| T::of_tensor(out));
    let flow = Flow { gradient: T::of_tensor(gradient), rectified, neurons };
    let to_x = in_inputs.then(|| matrix(kernel::gradient_in_inputs(T::of_tensor(weight), flow), inputs));
    let to_parameters = in_parameters.then(|| kernel::gradient_in_parameters(T::of_tensor(x), flow));
    let (to_weight, to_bias) = to_parameters.unzip();
    [to_x, to_weight.map(|values| matrix(values, neurons)), to_bias.map(|values| tensor(values, [neurons]))]
}

#[derive(Debug)]
struct DenseLayer;

impl Backward<Flex, 3> for DenseLayer {
    /// The inputs `x` and `weight`, the output, and whether the output is rectified.
    type State = ([FlexTensor; 3], bool);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, weight, out], rectified) = ops.state;
        let known = [x, weight, out, grads.consume::<Flex>(&ops.node)].map(|tensor| tensor.to_contiguous());
        let [in_inputs, in_weight, in_bias] = [0, 1, 2].map(|parent: usize| ops.parents[parent].is_some());
        let wanted = [in_inputs, in_weight || in_bias];
        let found = match known[0].dtype() {
            DType::F64 => gradients::<f64>(&known, rectified, wanted),
            _ => gradients::<f32>(&known, rectified, wanted),
        };
        for (node, gradient) in ops.parents.into_iter().zip(found) {
            if let (Some(node), Some(gradient)) = (node, gradient) {
                grads.register::<Flex>(node.id, gradient);
            }
        }
    }
}

impl<C: CheckpointStrategy> Dense for Autodiff<Flex, C> {
    fn dense(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        let (x_in, weight_in) = (x.primitive().clone(), weight.primitive().clone());
        let out = Flex::dense(x_in.clone(), weight_in.clone(), bias.primitive().clone(), rectified);
        match DenseLayer.prepare::<C>([x.node(), weight.node(), bias.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(([x_in, weight_in, out.clone()], rectified), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }
}
