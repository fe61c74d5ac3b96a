#!/usr/bin/env python3
"""Trains small rankers with the real binary, exports them, and compares their scores with those of the systems that read
the exports: onnxruntime, LightGBM, RankLib's formula, and the saved arrays read with safetensors.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy onnxruntime lightgbm safetensors
    /tmp/peers/bin/python tests/python/exports.py target/release/burn-rank

Ends with 1 at the first score that is further off than 1e-5 (relative above 1).
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import lightgbm
import numpy
import onnxruntime
import safetensors.numpy

FEATURES = 12
BINARY = str(pathlib.Path(sys.argv[1]).resolve())
ROOT = pathlib.Path(__file__).resolve().parents[2]

CONFIG = """
normaliser = "{normaliser}"
[data]
train = ["train.txt"]
{scorer}
{learner}
"""
GRADIENT = """
[loss]
name = "approx_ndcg"
[learner]
kind = "gradient"
epochs = 2
learning_rate = 0.05
"""
TREES = """
[loss]
name = "lambda_ndcg"
[learner]
kind = "boosted_trees"
rounds = 20
"""
NORMALISERS = ["none", "query_min_max", "z_score", "log1p", "quantile"]
ACTIVATIONS = ["relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "identity"]


def run(folder, *args, code=0):
    done = subprocess.run([BINARY, *args], cwd=folder, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{args}: exit code {done.returncode}, expected {code}\n{done.stderr}")
    return done.stdout


def read_letor(path):
    """A matrix a query, 32-bit floats, in the order of the file."""
    queries = {}
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        row = numpy.zeros(FEATURES, dtype=numpy.float32)
        for field in fields[2:]:
            feature, value = field.split(":")
            row[int(feature) - 1] = value
        queries.setdefault(fields[1], []).append(row)
    return [numpy.stack(rows) for rows in queries.values()]


def of_onnx(path, queries):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return numpy.concatenate([session.run(["scores"], {"features": query})[0] for query in queries])


def of_lightgbm(path, queries):
    return lightgbm.Booster(model_file=path).predict(numpy.concatenate(queries), raw_score=True)


def of_ranklib(path, queries):
    """As RankLib's linear regression reads it: comments, then `feature:weight` pairs, feature 0 the constant."""
    lines = path.read_text().splitlines()
    assert lines[0] == "## Linear Regression", lines[0]
    pairs = [pair.split(":") for line in lines if not line.startswith("##") for pair in line.split(" ")]
    weights = {int(feature): float(weight) for feature, weight in pairs}
    matrix = numpy.concatenate(queries).astype(numpy.float64)
    return weights[0] + matrix @ numpy.array([weights[feature + 1] for feature in range(FEATURES)])


def of_safetensors(path, queries):
    """A linear ranker with `z_score`, from the saved arrays and the JSON in the header."""
    arrays = safetensors.numpy.load_file(path)
    with safetensors.safe_open(path, "np") as file:
        header = json.loads(file.metadata()["burn_rank"])
    z_score = header["metadata"]["normaliser"]["map"]["z_score"]
    matrix = (numpy.concatenate(queries).astype(numpy.float64) - z_score["mean"]) * z_score["scale"]
    return (matrix @ arrays["Linear.linear.weight"])[:, 0]


def main(folder):
    run(folder, "synth", "--queries", "30", "--features", str(FEATURES), "--out", "train.txt")
    run(folder, "synth", "--queries", "5", "--features", str(FEATURES), "--seed", "9", "--out", "test.txt")
    queries = read_letor(folder / "test.txt")
    worst = {}

    def train(name, normaliser, scorer, learner):
        (folder / f"{name}.toml").write_text(CONFIG.format(normaliser=normaliser, scorer=scorer, learner=learner))
        run(folder, "train", f"{name}.toml", "--out", f"run-{name}")
        return f"run-{name}/ranker.safetensors"

    def check(name, system, model, scores):
        ours = numpy.array([float(line) for line in run(folder, "predict", model, "test.txt").split()])
        assert len(ours) == len(scores) and len(set(ours)) > 10, name
        error = float(numpy.max(numpy.abs(ours - scores) / numpy.maximum(1, numpy.abs(ours))))
        if not error <= 1e-5:
            sys.exit(f"{name}: {system} differs by {error}")
        count, largest = worst.get(system, (0, 0.0))
        worst[system] = count + 1, max(largest, error)

    for normaliser in NORMALISERS:
        name = f"linear-{normaliser}"
        model = train(name, normaliser, '[scorer]\nkind = "linear"', GRADIENT)
        run(folder, "convert", model, f"{name}.onnx")
        check(name, "onnxruntime", model, of_onnx(folder / f"{name}.onnx", queries))
        if normaliser in ("none", "z_score"):
            run(folder, "convert", model, f"{name}.txt")
            check(name, "RankLib's formula", model, of_ranklib(folder / f"{name}.txt", queries))
        else:
            run(folder, "convert", model, f"{name}.txt", code=2)
            assert not (folder / f"{name}.txt").exists()
        if normaliser == "z_score":
            check(name, "safetensors", model, of_safetensors(folder / model, queries))

        name = f"trees-{normaliser}"
        model = train(name, normaliser, "", TREES)
        run(folder, "convert", model, f"{name}.txt", code=2 if normaliser == "query_min_max" else 0)
        if normaliser != "query_min_max":
            check(name, "LightGBM", model, of_lightgbm(folder / f"{name}.txt", queries))

    combinations = itertools.product(ACTIVATIONS, ["none", "layer", "batch"])
    for (activation, norm), normaliser in zip(combinations, itertools.cycle(NORMALISERS)):
        name = f"mlp-{activation}-{norm}-{normaliser}"
        scorer = f'[scorer]\nkind = "mlp"\nhidden = [8, 4]\nactivation = "{activation}"\nnorm = "{norm}"'
        model = train(name, normaliser, scorer, GRADIENT)
        run(folder, "convert", model, f"{name}.onnx")
        check(name, "onnxruntime", model, of_onnx(folder / f"{name}.onnx", queries))

    for name in ("synth-linear", "synth-mlp"):
        model = ROOT / "models" / f"{name}.safetensors"
        run(folder, "convert", str(model), f"{name}.onnx")
        expected = json.loads(model.with_suffix(".json").read_text())
        session = onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=["CPUExecutionProvider"])
        width = session.get_inputs()[0].shape[1]
        assert width == expected["synth"]["features"], width

    for system, (count, largest) in worst.items():
        print(f"{system}: {count} rankers, largest difference {largest:.1e}")


with tempfile.TemporaryDirectory() as folder:
    main(pathlib.Path(folder))
