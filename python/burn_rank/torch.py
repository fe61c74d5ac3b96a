"""Every loss as an operator of PyTorch.

The module has one function for each loss of :func:`burn_rank.losses`, such as ``approx_ndcg(scores, labels, mask)``.
:func:`loss` accepts any loss by name, also a measure and a relaxation as in ``"ap:rank_indicators"``. :class:`Loss` is
a PyTorch module. All of these call the operators ``torch.ops.burn_rank.NAME``, which have a gradient and a fake
kernel, so ``torch.compile`` keeps one graph.

Scores are on the CPU, ``float32`` or ``float64``, of the shape ``(batch, documents)``, or ``(documents,)`` for one
list. Any memory order is accepted, and tensors that are not contiguous are copied. The gradient is computed with the
value, so a backward pass costs no second evaluation. Second derivatives raise an error that names the loss.

Without a mask, documents with the label -1 are padding, as in allRank's batches. ``lengths=`` is the number of
documents of each list. With ``lengths=``, scores and labels have the shape ``(documents,)``, one list after another
without padding.

A call uses as many threads as ``torch.get_num_threads()`` says, unless ``burn_rank.set_num_threads`` was called.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import _burn_rank
from ._json import encode
from ._losses import LossEntry, Reduction, check_reduction, losses, relaxed

#: The label of padding if no mask is given.
PADDING = -1

_SCHEMA = "(Tensor scores, Tensor labels, Tensor mask, str parameters, Tensor? draw, bool gradient) -> (Tensor, Tensor)"
_RELAXED = "relaxed_measure"


def _check(name: str, scores: Tensor, labels: Tensor, mask: Tensor) -> None:
    """Rejects tensors on another device, or whose layout, type or shape no operator accepts."""
    for what, tensor in (("scores", scores), ("labels", labels), ("mask", mask)):
        if tensor.device.type != "cpu":
            raise ValueError(f"{name}: {what} are on {tensor.device}, expected the CPU: this package has no other kernels")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name}: {what} are {tensor.layout}, expected torch.strided")
    if scores.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"{name}: scores are {scores.dtype}, expected torch.float32 or torch.float64")
    if labels.dtype.is_complex:
        raise TypeError(f"{name}: labels are {labels.dtype}, expected real or whole numbers")
    if mask.dtype != torch.bool:
        raise TypeError(f"{name}: mask is {mask.dtype}, expected torch.bool")
    if scores.ndim != 2:
        raise ValueError(f"{name}: scores are {list(scores.shape)}, expected [batch, documents]")
    _check_shapes(name, scores, labels, mask)


def _check_shapes(name: str, scores: Tensor, labels: Tensor, mask: Tensor | None) -> None:
    """Rejects labels or a mask whose shape differs from the shape of the scores."""
    for what, tensor in (("labels are", labels), ("mask is", mask)):
        if tensor is not None and tensor.shape != scores.shape:
            raise ValueError(f"{name}: {what} {list(tensor.shape)}, scores {list(scores.shape)}")


def _array(tensor: Tensor) -> Any:
    return tensor.detach().resolve_neg().contiguous().numpy()


def _operator(name: str) -> Any:
    """Defines the operator of a loss."""

    def compute(
        scores: Tensor, labels: Tensor, mask: Tensor, parameters: str, draw: Tensor | None, gradient: bool
    ) -> tuple[Tensor, Tensor]:
        _check(name, scores, labels, mask)
        number = None if draw is None else int(draw)
        arrays = (_array(scores), _array(labels), _array(mask))
        values, found = _burn_rank.loss(name, parameters, *arrays, gradient, number, torch.get_num_threads())
        return torch.from_numpy(values), scores.new_empty(0) if found is None else torch.from_numpy(found)

    operator = torch.library.custom_op(
        f"burn_rank::{name}", compute, mutates_args=(), device_types="cpu", schema=_SCHEMA
    )

    @operator.register_kernel("cuda")
    def _(scores: Tensor, labels: Tensor, mask: Tensor, parameters: str, draw: Tensor | None, gradient: bool) -> Any:
        _check(name, scores, labels, mask)
        raise ValueError(f"{name}: draw is on a GPU, expected the CPU")

    @operator.register_fake
    def _(scores: Tensor, labels: Tensor, mask: Tensor, parameters: str, draw: Tensor | None, gradient: bool) -> Any:
        _check(name, scores, labels, mask)
        shape = scores.shape
        return scores.new_empty(shape[:1]), scores.new_empty(shape if gradient else (0,))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        scores, gradient = inputs[0], output[1]
        ctx.mark_non_differentiable(gradient)
        ctx.has_gradient = inputs[5]
        ctx.save_for_backward(scores, gradient)

    def backward(ctx: Any, of_losses: Tensor, _: Any) -> Any:
        if not ctx.has_gradient:
            raise RuntimeError(f"{name}: found a backward pass, expected none after a call with gradient=False")
        scores, gradient = ctx.saved_tensors
        return _chain(of_losses, gradient, scores, name), None, None, None, None, None

    operator.register_autograd(backward, setup_context=setup_context)
    return operator


@torch.library.custom_op(
    "burn_rank::chain",
    mutates_args=(),
    device_types="cpu",
    schema="(Tensor of_losses, Tensor gradient, Tensor scores, str name) -> Tensor",
)
def _chain(of_losses: Tensor, gradient: Tensor, scores: Tensor, name: str) -> Tensor:
    """Applies the chain rule: from derivatives with respect to the losses to derivatives with respect to the scores.

    The scores are an argument so that a second derivative raises the error below instead of returning a silent 0.
    """
    return of_losses.unsqueeze(1) * gradient


@_chain.register_fake
def _(of_losses: Tensor, gradient: Tensor, scores: Tensor, name: str) -> Tensor:
    return torch.empty_like(gradient, memory_format=torch.contiguous_format)


def _remember_name(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.name = inputs[3]


def _refuse(ctx: Any, _: Any) -> Any:
    raise NotImplementedError(f"{ctx.name}: found a second derivative, expected the first: only that is computed")


_chain.register_autograd(_refuse, setup_context=_remember_name)

_OPERATORS = {name: _operator(name) for name in losses()}


def _named(name: str, **parameters: Any) -> str:
    """Returns the operator's name on one line, and the parameters as JSON on the next line."""
    if ":" in name:
        parts = relaxed(name)
        for key in parts:
            if key in parameters:
                raise ValueError(f"{key}: found in `{name}` too, expected it once")
        name, parameters = _RELAXED, parts | parameters
    text = encode("parameters", parameters)
    # A loss that cannot be built raises an error with the nearest name.
    _burn_rank.loss(name, text, *_NOTHING, False, None, 1)
    return f"{name}\n{text}"


# The text is a constant of a compiled graph.
_constant_named = torch.compiler.assume_constant_result(_named)


_NOTHING = tuple(_array(torch.zeros(1, 1, dtype=dtype)) for dtype in (torch.float32, torch.float32, torch.bool))


def loss(
    name: str,
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    reduction: Reduction = "mean",
    draw: int | Tensor | None = None,
    **parameters: Any,
) -> Tensor:
    """Computes the loss ``name`` with the ``parameters`` that differ from its defaults.

    ``scores``, ``labels`` and ``mask`` all have the shape ``(batch, documents)`` or ``(documents,)``. The mask is true
    for documents. Without a mask, documents with label -1 are padding. ``lengths`` has the number of documents of each
    list in flat scores and labels of shape ``(documents,)``, which need no mask. ``reduction`` is ``"mean"`` or
    ``"sum"`` over the lists, or ``"none"``. A list with nothing to learn has loss 0 and counts in the mean.

    ``draw`` is for losses that draw random numbers. Each number, 0 or above, gives different noise, so pass the number
    of the step. Without ``draw``, the noise depends on the parameter ``seed`` and is the same at every call.

    Raises ``TypeError`` and ``ValueError`` for unsuitable tensors, scores that are not finite, labels that the loss
    does not allow, and unknown names and parameters.
    """
    check_reduction(reduction)
    operator, text = _constant_named(name, **parameters).split("\n")
    return _apply(operator, scores, labels, mask, lengths, reduction, draw, text)


def _lists(
    name: str, scores: Tensor, labels: Tensor, mask: Tensor | None, lengths: Sequence[int] | Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Pads flat scores and labels to lists of equal length, and returns the lists with their mask."""
    if mask is not None:
        raise ValueError(f"{name}: found a mask and lengths, expected one of the two")
    if scores.ndim != 1:
        raise ValueError(f"{name}: scores are {list(scores.shape)}, expected [documents] with lengths")
    _check_shapes(name, scores, labels, None)
    sizes = [int(size) for size in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    if not sizes:
        raise ValueError(f"{name}: lengths: no query, expected one query of one document or more")
    documents, end = scores.shape[0], 0
    for query, size in enumerate(sizes, 1):
        if size < 1:
            raise ValueError(f"{name}: lengths: query {query}: {size} documents, expected one or more")
        end += size
        if end > documents:
            raise ValueError(f"{name}: lengths: query {query} ends beyond the scores, which are [{documents}]")
    if end < documents:
        left = documents - end
        raise ValueError(f"{name}: lengths: {left} of [{documents}] scores are left over after query {len(sizes)}")
    place = torch.arange(max(sizes), device=scores.device)
    mask = place < torch.tensor(sizes, device=scores.device).unsqueeze(1)
    rows = [x.new_zeros(mask.shape).masked_scatter(mask, x) for x in (scores, labels)]
    return rows[0], rows[1], mask


def _apply(
    name: str,
    scores: Tensor,
    labels: Tensor,
    mask: Tensor | None,
    lengths: Sequence[int] | Tensor | None,
    reduction: Reduction,
    draw: int | Tensor | None,
    parameters: str,
) -> Tensor:
    if lengths is not None:
        scores, labels, mask = _lists(name, scores, labels, mask, lengths)
    if mask is None:
        mask = labels != PADDING
    is_one = scores.ndim == 1
    if is_one:
        _check_shapes(name, scores, labels, mask)
        scores, labels, mask = scores.unsqueeze(0), labels.unsqueeze(0), mask.unsqueeze(0)
    _check(name, scores, labels, mask)
    if isinstance(draw, int):
        draw = torch.tensor(draw)
    gradient = torch.is_grad_enabled() and scores.requires_grad
    operator = getattr(torch.ops.burn_rank, name)
    losses, _ = operator(scores, labels.detach().to(scores.dtype), mask, parameters, draw, gradient)
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    return losses[0] if is_one else losses


class Loss(torch.nn.Module):
    """A loss as a module, as in ``Loss("approx_ndcg", alpha=10.0)(scores, labels, mask)``.

    A call accepts the same tensors as :func:`loss`. A loss that draws random numbers draws new ones at each call in
    training mode. The buffer ``draws`` counts these calls, so a saved state continues with the next draw.
    """

    draws: Tensor | None

    def __init__(self, name: str, *, reduction: Reduction = "mean", **parameters: Any) -> None:
        super().__init__()
        check_reduction(reduction)
        self.name, self.reduction, self.parameters_given = name, reduction, dict(parameters)
        self._operator, self._text = _named(name, **parameters).split("\n")
        is_stochastic = losses()[self._operator].stochastic
        self.register_buffer("draws", torch.zeros((), dtype=torch.int64) if is_stochastic else None)

    def forward(
        self,
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Sequence[int] | Tensor | None = None,
    ) -> Tensor:
        draw = None
        if self.draws is not None and self.training:
            self.draws += 1
            # The buffer may be on the device of a model that contains this module.
            draw = self.draws.clone().cpu()
        return _apply(self._operator, scores, labels, mask, lengths, self.reduction, draw, self._text)

    def extra_repr(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.parameters_given.items())
        return f"{self.name!r}, reduction={self.reduction!r}{given}"


def _function(entry: LossEntry) -> Any:
    """Returns the function of a loss, which accepts its parameters by name."""

    def call(
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Sequence[int] | Tensor | None = None,
        reduction: Reduction = "mean",
        draw: int | Tensor | None = None,
        **parameters: Any,
    ) -> Tensor:
        return loss(
            entry.name, scores, labels, mask, lengths=lengths, reduction=reduction, draw=draw, **parameters
        )

    common = [p for p in inspect.signature(call).parameters.values() if p.kind is not p.VAR_KEYWORD]
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(key, keyword, default=default) for key, default in entry.parameters.items()]
    if entry.name == _RELAXED:
        own.append(inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD))
    call.__signature__ = inspect.Signature([*common, *own], return_annotation=Tensor)  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = entry.name
    call.__doc__ = (
        f"{entry.summary}\n\n    {entry.formula}\n\n{entry.paper}. Time of a list of n documents: {entry.cost}.\n\n"
        "The arguments are those of :func:`loss`; the others are parameters of the loss, with their defaults."
    )
    return call


globals().update({name: _function(entry) for name, entry in losses().items()})

__all__ = ["PADDING", "Loss", "loss", *losses()]
