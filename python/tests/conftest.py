"""What the tests share: generated queries, and the command to compare with."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="session")
def command():
    """The program `burn-rank`: that of BURN_RANK, or the package's own."""
    program = os.environ.get("BURN_RANK")
    return [program] if program else [sys.executable, "-m", "burn_rank"]


@pytest.fixture(scope="session")
def run(command):
    def run(*arguments, stdin=None, code=0):
        done = subprocess.run([*command, *map(str, arguments)], input=stdin, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def explained(run):
    """`burn-rank loss` for lists: value, loss and gradient of each."""

    def explained(name, lists, precision, **parameters):
        given = [f"--set={key}={json.dumps(value)}" for key, value in parameters.items()]
        lines = "\n".join(json.dumps({"scores": scores, "labels": labels}) for scores, labels in lists)
        done = run("loss", name, *given, "--precision", precision, stdin=lines)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return explained


class Queries:
    """Documents in which two features matter."""

    def __init__(self, queries, features=5, seed=0):
        random = np.random.default_rng(seed)
        self.sizes = random.integers(3, 12, queries)
        documents = int(self.sizes.sum())
        self.X = random.normal(size=(documents, features)).astype(np.float32)
        value = self.X[:, 0] - 0.5 * self.X[:, 1] + 0.3 * random.normal(size=documents)
        self.y = np.digitize(value, [-0.2, 0.6, 1.2]).astype(np.float32)
        self.qid = np.repeat(np.arange(queries), self.sizes)

    def write(self, path):
        with open(path, "w") as file:
            for features, label, query in zip(self.X, self.y, self.qid, strict=True):
                values = " ".join(f"{at}:{value!r}" for at, value in enumerate(map(float, features), 1))
                file.write(f"{int(label)} qid:{query} {values}\n")
        return path


@pytest.fixture(scope="session")
def queries():
    return Queries(40)


@pytest.fixture(scope="session")
def held_out():
    return Queries(15, seed=1)


@pytest.fixture
def config(tmp_path, queries, held_out):
    """A configuration as a dict, that reads the queries from files."""
    train = queries.write(tmp_path / "train.txt")
    validation = held_out.write(tmp_path / "validation.txt")
    return {
        "name": "small",
        "seed": 3,
        "normalizer": "z_score",
        "data": {"train": [str(train)], "validation": [str(validation)]},
        "loss": {"name": "approx_ndcg"},
        "learner": {"kind": "gradient", "epochs": 3, "batch_queries": 8},
        "measure": {"select": "ndcg@5", "report": ["ndcg@5", "map"]},
    }


@pytest.fixture
def tmp_folder(tmp_path):
    folder = tmp_path / "folder"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
