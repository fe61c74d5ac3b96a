"""docs/tutorials/python.md does what it says: its Python blocks run, and print what is shown. So do the examples."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT.parent / "docs" / "tutorials" / "python.md"
BLOCK = re.compile(r"^(It prints:\n\n)?```(\w+)\n(.*?)^```$", re.M | re.S)


@pytest.mark.skipif(not PAGE.exists(), reason="the guide is in the repository")
def test_the_guide(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    names, printed, shown = {}, "", 0
    for output, kind, text in BLOCK.findall(PAGE.read_text()):
        if kind == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(text, str(PAGE), "exec"), names)
            printed = stream.getvalue()
        elif output:
            assert printed == text
            shown += 1
    assert shown == 5


def test_the_example_of_rankers(tmp_path):
    example = [sys.executable, ROOT / "examples" / "rankers.py"]
    done = subprocess.run(example, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and eval(lines[1])["ndcg@10"] > 0.8


def test_the_example_of_torch(tmp_path):
    pytest.importorskip("torch")
    example = [sys.executable, ROOT / "examples" / "train_torch.py"]
    small = ["--lists", "8", "--documents", "24", "--steps", "12"]
    done = subprocess.run([*example, *small], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[2:]
    assert [row[:28].strip() for row in rows] == [
        "burn_rank.torch",
        "burn_rank.torch, compiled",
        "PyTorch, eager",
        "PyTorch, compiled",
    ]
    found = [float(row.split()[-1]) for row in rows]
    assert max(found) - min(found) < 0.05
