"""The stubs are what the package has. `python tests/test_stubs.py` writes those of the losses."""

import json
import keyword
import subprocess
import sys
from pathlib import Path

import burn_rank
import pytest

STUB = Path(__file__).parent.parent / "burn_rank" / "torch.pyi"

HEAD = '''\
# Written by tests/test_stubs.py from the registry of losses.
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._losses import Reduction

PADDING: int

class Loss(torch.nn.Module):
    name: str
    reduction: Reduction
    draws: Tensor | None
    def __init__(self, name: str, *, reduction: Reduction = "mean", **parameters: Any) -> None: ...
    def forward(
        self,
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Sequence[int] | Tensor | None = None,
    ) -> Tensor: ...
    def __call__(
        self,
        scores: Tensor,
        labels: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Sequence[int] | Tensor | None = None,
    ) -> Tensor: ...

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
) -> Tensor: ...
'''


def kind(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return type(value).__name__
    # Texts stand for tables too, as a gain does; what is not set may be of any type.
    return "Any"


def stub(entry):
    own = "".join(f"    {name}: {kind(value)} = {value!r},\n" for name, value in entry.parameters.items())
    if entry.name == "relaxed_measure":
        own += "    **parameters: Any,\n"
    assert not any(keyword.iskeyword(name) for name in entry.parameters)
    return (
        f"def {entry.name}(\n    scores: Tensor,\n    labels: Tensor,\n    mask: Tensor | None = None,\n    *,\n"
        "    lengths: Sequence[int] | Tensor | None = None,\n"
        f'    reduction: Reduction = "mean",\n    draw: int | Tensor | None = None,\n{own}) -> Tensor:\n'
        f"    {json.dumps(entry.summary, ensure_ascii=False)}\n"
    )


def stubs():
    return HEAD + "".join("\n" + stub(entry) for entry in burn_rank.losses().values())


def test_stubs_of_losses_are_the_registry():
    assert STUB.read_text() == stubs(), "python tests/test_stubs.py writes them anew"


def test_types_are_checked(tmp_path):
    pytest.importorskip("mypy")
    text = """
import numpy as np
import burn_rank
import burn_rank.torch as rank
import torch

ranker: burn_rank.Ranker = burn_rank.load("ranker")
scores = ranker.predict(np.zeros((2, 3), np.float32))
mean: float = burn_rank.evaluate(np.zeros(2), scores).means["map"]
value: torch.Tensor = rank.approx_ndcg(torch.zeros(2, 3), torch.zeros(2, 3), alpha=1.0)
rank.approx_ndcg(torch.zeros(2, 3), torch.zeros(2, 3), alhpa=1.0)  # line 11
"""
    (tmp_path / "program.py").write_text(text)
    check = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", tmp_path / "cache"]
    done = subprocess.run([*check, tmp_path / "program.py"], capture_output=True, text=True)
    assert "program.py:11: error: Unexpected keyword argument \"alhpa\"" in done.stdout
    assert done.stdout.endswith("Found 1 error in 1 file (checked 1 source file)\n"), done.stdout


if __name__ == "__main__":
    STUB.write_text(stubs())
