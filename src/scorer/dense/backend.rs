//! The fused dense layer, as an extension of burn's backends. Only the Flex backend has a fused kernel.

use burn::backend::{
    Autodiff, AutodiffBackend, Backend, DispatchTensor, DispatchTensorKind, Flex, TensorMetadata,
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

/// The operations of a dense layer on a backend. All inputs have the shape `[rows, inputs]`, are not empty, and have
/// the same type, `f32` or `f64`.
#[backend_extension(Autodiff, Flex)]
pub trait Dense: Backend {
    /// Computes `x weight + bias`, and sets negative results to 0 if `rectified`.
    fn dense(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self>;

    /// Computes the gradient of [`dense`](Self::dense) with respect to `x`, given the layer's output `out`.
    fn dense_gradient_in_inputs(
        weight: FloatTensor<Self>,
        out: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self>;

    /// Computes the gradients of [`dense`](Self::dense) with respect to the weights and the bias, given the layer's
    /// output `out`.
    fn dense_gradient_in_parameters(
        x: FloatTensor<Self>,
        out: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        rectified: bool,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);
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

fn flow<'a, T: Stored>(out: &'a FlexTensor, gradient: &'a FlexTensor, rectified: bool) -> Flow<'a, T> {
    let [_, neurons]: [usize; 2] = out.shape().dims();
    Flow { gradient: T::of_tensor(gradient), rectified: rectified.then(|| T::of_tensor(out)), neurons }
}

fn in_inputs<T: Stored>(weight: &FlexTensor, flow: Flow<T>) -> FlexTensor {
    let [inputs, _]: [usize; 2] = weight.shape().dims();
    matrix(kernel::gradient_in_inputs(T::of_tensor(weight), flow), inputs)
}

fn in_parameters<T: Stored>(x: &FlexTensor, flow: Flow<T>) -> (FlexTensor, FlexTensor) {
    let (weight, bias) = kernel::gradient_in_parameters(T::of_tensor(x), flow);
    (matrix(weight, flow.neurons), tensor(bias, [flow.neurons]))
}

impl Dense for Flex {
    fn dense(x: FlexTensor, weight: FlexTensor, bias: FlexTensor, rectified: bool) -> FlexTensor {
        let [x, weight, bias] = [x, weight, bias].map(|tensor| tensor.to_contiguous());
        match x.dtype() {
            DType::F64 => value::<f64>(&x, &weight, &bias, rectified),
            _ => value::<f32>(&x, &weight, &bias, rectified),
        }
    }

    fn dense_gradient_in_inputs(
        weight: FlexTensor,
        out: FlexTensor,
        gradient: FlexTensor,
        rectified: bool,
    ) -> FlexTensor {
        let [weight, out, gradient] = [weight, out, gradient].map(|tensor| tensor.to_contiguous());
        match weight.dtype() {
            DType::F64 => in_inputs::<f64>(&weight, flow(&out, &gradient, rectified)),
            _ => in_inputs::<f32>(&weight, flow(&out, &gradient, rectified)),
        }
    }

    fn dense_gradient_in_parameters(
        x: FlexTensor,
        out: FlexTensor,
        gradient: FlexTensor,
        rectified: bool,
    ) -> (FlexTensor, FlexTensor) {
        let [x, out, gradient] = [x, out, gradient].map(|tensor| tensor.to_contiguous());
        match x.dtype() {
            DType::F64 => in_parameters::<f64>(&x, flow(&out, &gradient, rectified)),
            _ => in_parameters::<f32>(&x, flow(&out, &gradient, rectified)),
        }
    }
}

/// The state for the backward pass: the inputs `x` and `weight`, the output, and whether the output is rectified.
type State<F> = ([F; 3], bool);

#[derive(Debug)]
struct DenseLayer;

impl<B: Dense> Backward<B, 3> for DenseLayer {
    type State = State<FloatTensor<B>>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, weight, out], rectified) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        let [to_x, to_weight, to_bias] = ops.parents;
        if let Some(node) = to_x {
            let gradient = B::dense_gradient_in_inputs(weight, out.clone(), gradient.clone(), rectified);
            grads.register::<B>(node.id, gradient);
        }
        if to_weight.is_none() && to_bias.is_none() {
            return;
        }
        let (in_weight, in_bias) = B::dense_gradient_in_parameters(x, out, gradient, rectified);
        if let Some(node) = to_weight {
            grads.register::<B>(node.id, in_weight);
        }
        if let Some(node) = to_bias {
            grads.register::<B>(node.id, in_bias);
        }
    }
}

impl<B: Dense, C: CheckpointStrategy> Dense for Autodiff<B, C> {
    fn dense(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        let (x_in, weight_in) = (x.primitive().clone(), weight.primitive().clone());
        let out = B::dense(x_in.clone(), weight_in.clone(), bias.primitive().clone(), rectified);
        match DenseLayer.prepare::<C>([x.node(), weight.node(), bias.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(([x_in, weight_in, out.clone()], rectified), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        }
    }

    fn dense_gradient_in_inputs(
        weight: FloatTensor<Self>,
        out: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        let [weight, out, gradient] = [weight, out, gradient].map(Self::inner);
        Self::from_inner(B::dense_gradient_in_inputs(weight, out, gradient, rectified))
    }

    fn dense_gradient_in_parameters(
        x: FloatTensor<Self>,
        out: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        rectified: bool,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [x, out, gradient] = [x, out, gradient].map(Self::inner);
        let (weight, bias) = B::dense_gradient_in_parameters(x, out, gradient, rectified);
        (Self::from_inner(weight), Self::from_inner(bias))
    }
}
