//! Implements the primitives on burn's autodiff backend. All primitives share one kind of autodiff node, whose backward
//! pass calls the analytic gradient of the inner backend.

use burn::backend::{
    Autodiff, AutodiffBackend,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, NodeGuard, Ops, OpsKind},
    },
    tensor::FloatTensor,
};

use super::{Primitives, backward, forward};
use crate::execution::Execution;
use crate::op::call::{Call, Tensors};
use crate::op::primitive::{each, interface::Primitive};

/// The autodiff node of a call with `N` inputs that have a gradient. The node stores the call and the outputs that its
/// gradient needs.
#[derive(Debug)]
struct Node;

impl<B: Primitives, const N: usize> Backward<B, N> for Node {
    type State = (Call<B>, Tensors<B>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (call, saved) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        for (input, gradient) in backward(call, saved, gradient, &wanted, Execution::current()) {
            if let Some(node) = &ops.parents[input] {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

/// Registers the node of a call; the argument `nodes` holds the nodes of those inputs that have a gradient.
fn register<B: Primitives, C: CheckpointStrategy, const N: usize>(
    nodes: Vec<NodeGuard>,
    state: (Call<B>, Tensors<B>),
    out: FloatTensor<B>,
) -> FloatTensor<Autodiff<B, C>> {
    let nodes: [NodeGuard; N] = nodes.try_into().expect("as many nodes as differentiated inputs");
    match Backward::<B, N>::prepare::<C>(Node, nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => prep.finish(state, out),
        OpsKind::UnTracked(prep) => prep.finish(out),
    }
}

impl<B: Primitives, C: CheckpointStrategy> Primitives for Autodiff<B, C> {
    /// Computes a call and returns its first output, the only output with a gradient.
    fn forward(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        let differentiated = each!(&call.operation, primitive => primitive.differentiated());
        let inputs = call.inputs.refs().into_iter();
        let nodes: Vec<NodeGuard> = inputs.take(differentiated).map(|input| input.node()).collect();
        let call: Call<B> = call.map(|input| input.into_primitive());
        let outputs = forward::<B>(call.clone(), execution).into_vec();
        let out = outputs[0].clone();
        let saved = Tensors::new(each!(&call.operation, primitive => primitive.saved(outputs)));
        Tensors::One(match nodes.len() {
            0 => Self::from_inner(out),
            1 => register::<B, C, 1>(nodes, (call, saved), out),
            _ => register::<B, C, 2>(nodes, (call, saved), out),
        })
    }

    fn composed(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        Self::forward(call, execution)
    }
}
