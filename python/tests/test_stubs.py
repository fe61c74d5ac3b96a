"""The stubs are what the package has."""

import subprocess
import sys

import pytest


def test_types_are_checked(tmp_path):
    for package in ("mypy", "torch"):
        pytest.importorskip(package)
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
