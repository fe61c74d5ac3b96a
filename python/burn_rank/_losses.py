"""Computes losses by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _burn_rank
from ._json import encode

Reduction = Literal["mean", "sum", "none"]


@dataclass(frozen=True)
class LossEntry:
    """A description of a loss.

    ``parameters`` has the parameters of the loss with their defaults. ``stochastic`` says whether the loss
    draws random numbers.
    """

    name: str
    summary: str
    formula: str
    cost: str
    paper: str
    parameters: dict[str, Any]
    stochastic: bool


@cache
def losses() -> dict[str, LossEntry]:
    """Returns a description of every loss, by name."""
    return {entry["name"]: LossEntry(**entry) for entry in json.loads(_burn_rank.losses())}


def relaxed(name: str) -> dict[str, Any]:
    """Returns the parameters that a name such as ``ndcg@10:soft_sort`` stands for."""
    measure, relaxation = name.split(":", 1)
    measure, _, cutoff = measure.partition("@")
    parameters: dict[str, Any] = {"measure": measure, "relaxation": relaxation}
    if cutoff:
        # The library refuses a cut-off that is not a number.
        parameters["k"] = int(cutoff) if cutoff.isdecimal() else cutoff
    return parameters


def check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction: found {reduction!r}, expected "mean", "sum" or "none"')


def _as_row(name: str, array: Any) -> Any:
    """Returns one list as a batch of one, without a copy."""
    if isinstance(array, np.ndarray):
        if array.ndim != 1:
            raise ValueError(f"{name}: found shape {array.shape}, expected (documents,), as the scores")
        return array[np.newaxis]
    return array


def loss(
    name: str,
    scores: NDArray[Any],
    labels: NDArray[Any],
    mask: NDArray[np.bool_] | None = None,
    *,
    reduction: Reduction = "mean",
    **parameters: Any,
) -> tuple[Any, NDArray[Any]]:
    """Returns the value of a loss and its gradient with respect to the scores.

    ``name`` is a name of :func:`losses`, or a measure and a relaxation as in ``"ap:rank_indicators"``. ``parameters``
    are the parameters that differ from the defaults. For one list, the result has the same bytes as from ``burn-rank
    loss``.

    ``scores`` are ``float32`` or ``float64`` of the shape ``(batch, documents)``, or ``(documents,)`` for one list, in
    C order. ``labels`` and ``mask`` have the same shape. The mask is true for documents and false for padding, whose
    scores and labels may have any value. The gradient has the shape and dtype of the scores, and is 0 for padding.

    ``reduction`` is ``"mean"`` or ``"sum"`` over the lists, or ``"none"`` for the value of each list, with its gradient
    with respect to its scores. A list with nothing to learn has value 0 and counts in the mean.

    Raises ``TypeError`` for a wrong dtype. Raises ``ValueError`` for a wrong shape or memory order, an unknown loss or
    parameter, a score that is not finite, or a label that the loss does not allow. The message names the list and the
    document.
    """
    check_reduction(reduction)
    is_one = isinstance(scores, np.ndarray) and scores.ndim == 1
    if is_one:
        scores, labels = _as_row("scores", scores), _as_row("labels", labels)
        mask = None if mask is None else _as_row("mask", mask)
    text = encode("parameters", parameters)
    values, gradient = _burn_rank.loss(name, text, scores, labels, mask, True, None, None)
    assert gradient is not None
    if reduction == "mean" and len(values) > 1:
        gradient /= len(values)
    if is_one:
        gradient = gradient[0]
    if reduction == "none":
        return (values[0] if is_one else values), gradient
    total = float(values.mean(dtype=np.float64) if reduction == "mean" else values.sum(dtype=np.float64))
    return total, gradient
