#!/usr/bin/env python3
"""Perceptrons by their defaults beside LightGBM: NDCG@10 and MAP of test queries. The first table of benchmarks/losses.md.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy lightgbm
    /tmp/peers/bin/python benches/python/neural_quality.py target/release/burn-rank --out FOLDER [SET ..] [--seeds 1,2,3] [--threads N]

A SET is one of those below, which `burn-rank synth` makes, or NAME=FOLDER with S1.txt .. S5.txt or Fold1 .. Fold5; without any, all of those
below. What is in --out is not run again: a run goes on where an earlier one ended.

Perceptrons are trained by `burn-rank cv` and its defaults, on three losses: `lambda_ndcg`, `list_net` and, for direct optimization, `approx_ndcg`
with unit gradients. `.. 10 epochs` are the latter two with 10 epochs at a rate of .003. LightGBM has lambdarank, a learning rate of .05, 80 % of
the documents and of the features for each tree, at least 20 documents in a leaf, and at most 1,500 trees, which stop after 100 without a better
NDCG@10 on validation queries. Its leaves (7, 15 or 31) are chosen for each fold by validation NDCG@10 with the first seed.

Every figure is that of a single ranker: a query's value is the mean over the seeds. Differences are paired over test queries; the figure after ±
is their standard error. The convention is `standard`, for all. The pooled row weighs the sets by 1 / SE^2.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy

# What `burn-rank synth --parts 5` is told, and the folds that are tested.
SETS = {
    "gen": ("--queries 1000 --features 40 --median-length 20 --seed 911", [1, 3]),
    "new": ("--queries 1000 --features 80 --median-length 25 --noise 1.0 --seed 20261126", [1, 3]),
    "unseen": ("--queries 2000 --features 60 --median-length 12 --noise 1.6 --seed 77", [1, 2]),
    "big": ("--queries 2000 --features 136 --median-length 60 --seed 2024", [1]),
    "steps": ("--queries 1000 --features 40 --median-length 20 --seed 911 --scorer steps", [1, 3]),
}
ALL_FOLDS = [1, 2, 3, 4, 5]
MEASURES = ["ndcg@10", "map"]
BRIEF = ["learner.epochs=10", "learner.learning_rate=0.003"]
NETS = {
    "lambda_ndcg": ["loss.name=lambda_ndcg"],
    "list_net": ["loss.name=list_net"],
    "approx_ndcg": ["loss.name=approx_ndcg"],
    "list_net, 10 epochs": ["loss.name=list_net", *BRIEF],
    "approx_ndcg, 10 epochs": ["loss.name=approx_ndcg", *BRIEF],
}
TREES = "LightGBM"
# Differences that are printed, each of the first from the second.
DIFFERENCES = [
    ("lambda_ndcg", TREES),
    ("list_net", TREES),
    ("approx_ndcg", TREES),
    ("approx_ndcg", "list_net"),
    ("approx_ndcg", "lambda_ndcg"),
    ("approx_ndcg, 10 epochs", "list_net, 10 epochs"),
]
CONFIG = """\
scorer = { kind = "mlp" }
loss = { name = "lambda_ndcg" }
learner = { kind = "gradient" }
measure = { convention = "standard", select = "ndcg@10", report = ["ndcg@10", "map"] }
"""
LEAVES, ROUNDS, PATIENCE = [7, 15, 31], 1500, 100


def net(binary, folder, folds, sets, seeds, threads, out):
    """Values of each test query by measure, the mean over seeds, and the best epoch of each fit."""
    path = os.path.join(out, "report.json")
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory() as work:
            config = os.path.join(work, "perceptron.toml")
            with open(config, "w") as file:
                file.write(CONFIG)
            sets = [f"data.folds={json.dumps(os.path.abspath(folder))}", f"cv.folds={folds}", f"cv.seeds={seeds}", *sets]
            command = [binary, "cv", config, "--out", out, "--jobs", str(threads)]
            command += [part for key in sets for part in ("--set", key)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path) as file:
        report = json.load(file)
    values = {measure: [value for fold in report["details"] for value in fold["per_query"]["values"][measure]] for measure in MEASURES}
    fits = [fit["best_round"] for fold in report["details"] for fit in fold["fits"]]
    return values, f"best epochs {fits}"


def parts(folder, fold):
    """Training, validation and test files of a fold, from 1."""
    if os.path.isdir(os.path.join(folder, "Fold1")):
        return [[os.path.join(folder, f"Fold{fold}", f"{part}.txt")] for part in ("train", "vali", "test")]
    files = [os.path.join(folder, f"S{(fold - 1 + part) % 5 + 1}.txt") for part in range(5)]
    return [files[:3], files[3:4], files[4:]]


def read(files):
    labels, rows, queries = [], [], []
    for path in files:
        with open(path) as lines:
            for line in lines:
                fields = line.split("#")[0].split()
                labels.append(float(fields[0]))
                queries.append(fields[1])
                rows.append({int(index): float(value) for index, value in (entry.split(":") for entry in fields[2:])})
    features = numpy.zeros((len(rows), max(max(row) for row in rows if row)))
    for row, values in zip(features, rows):
        for index, value in values.items():
            row[index - 1] = value
    return numpy.array(labels), features, [len(list(group)) for _, group in itertools.groupby(queries)]


def learnable(labels, features, sizes):
    """Without the queries that have no relevant document, which count as 1 in LightGBM."""
    queries = numpy.repeat(numpy.arange(len(sizes)), sizes)
    has_relevant = numpy.bincount(queries, labels > 0, len(sizes)) > 0
    keeps = has_relevant[queries]
    return labels[keeps], features[keeps], numpy.array(sizes)[has_relevant]


def trees(binary, folder, folds, seeds, threads, out):
    """The same of LightGBM. Values are those of `burn-rank eval`."""
    import lightgbm

    path = os.path.join(out, "values.json")
    if not os.path.exists(path):
        values, chosen = {measure: [] for measure in MEASURES}, []
        for fold in folds:
            files = parts(folder, fold)
            train, validation, test = read(files[0]), learnable(*read(files[1])), read(files[2])
            width = max(train[1].shape[1], test[1].shape[1], validation[1].shape[1])
            train, validation, test = (
                (labels, numpy.pad(rows, ((0, 0), (0, width - rows.shape[1]))), sizes) for labels, rows, sizes in (train, validation, test)
            )

            def fit(leaves, seed):
                parameters = {
                    "objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "learning_rate": 0.05, "num_leaves": leaves,
                    "min_data_in_leaf": 20, "feature_fraction": 0.8, "bagging_fraction": 0.8, "bagging_freq": 1, "seed": seed,
                    "num_threads": threads, "force_col_wise": True, "verbose": -1,
                }
                sets = [lightgbm.Dataset(rows, labels, group=sizes) for labels, rows, sizes in (train, validation)]
                stop = lightgbm.early_stopping(PATIENCE, verbose=False)
                return lightgbm.train(parameters, sets[0], ROUNDS, valid_sets=[sets[1]], callbacks=[stop])

            first = {leaves: fit(leaves, seeds[0]) for leaves in LEAVES}
            leaves = max(LEAVES, key=lambda leaves: first[leaves].best_score["valid_0"]["ndcg@10"])
            rankers = [first[leaves], *(fit(leaves, seed) for seed in seeds[1:])]
            found = [measured(binary, files[2], ranker.predict(test[1])) for ranker in rankers]
            for measure in MEASURES:
                values[measure].extend(numpy.mean([of[measure] for of in found], axis=0).tolist())
            chosen.append(f"{leaves} leaves, {[ranker.best_iteration for ranker in rankers]} trees")
        os.makedirs(out, exist_ok=True)
        with open(path, "w") as file:
            json.dump({"values": values, "chosen": chosen, "version": lightgbm.__version__}, file)
    with open(path) as file:
        found = json.load(file)
    return found["values"], "; ".join(found["chosen"])


def measured(binary, files, scores):
    """Values of each query; NaN where the convention leaves it out."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{score!r}\n" for score in scores.tolist()))
        file.flush()
        command = [binary, "eval", "--scores", file.name, *files, "--per-query", "--json", "-m", ",".join(MEASURES), "-c", "standard"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    number = lambda value: numpy.nan if value is None else value
    return {measure: [number(query["measures"].get(measure)) for query in report["per_query"]] for measure in MEASURES}


def mean(values):
    values = values[~numpy.isnan(values)]
    return values.mean(), values.std(ddof=1) / len(values) ** 0.5


def pooled(figures):
    """Mean and standard error of several means, by 1 / SE^2."""
    weights = [1 / error**2 for _, error in figures]
    return sum(weight * value for weight, (value, _) in zip(weights, figures)) / sum(weights), sum(weights) ** -0.5


def in_words(value, error):
    return f"{value:+.4f} ± {error:.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--methods", help="methods to run, separated by semicolons; all if left out")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_intermixed_args()
    binary, seeds = os.path.abspath(arguments.binary), [int(seed) for seed in arguments.seeds.split(",")]
    methods = [TREES, *NETS] if arguments.methods is None else [name.strip() for name in arguments.methods.split(";")]
    found = {}
    for name in arguments.sets or SETS:
        name, _, folder = name.partition("=")
        folds = ALL_FOLDS
        if not folder:
            options, folds = SETS[name]
            folder = os.path.join(arguments.out, "data", name)
            if not os.path.exists(folder):
                os.makedirs(os.path.dirname(folder), exist_ok=True)
                subprocess.run([binary, "synth", *options.split(), "--parts", "5", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        of_set = found.setdefault(name, {})
        for method in methods:
            out, start = os.path.join(arguments.out, name, method.replace(", ", "-").replace(" ", "-")), time.time()
            if method == TREES:
                values, how = trees(binary, folder, folds, seeds, arguments.threads, out)
            else:
                values, how = net(binary, folder, folds, NETS[method], seeds, arguments.threads, out)
            of_set[method] = {measure: numpy.array(values[measure], dtype=float) for measure in MEASURES}
            print(f"{name}, {method}: {mean(of_set[method]['ndcg@10'])[0]:.4f}, {how}, {time.time() - start:.0f} s", file=sys.stderr)
    print("| set | queries | " + " | ".join(f"{method}: NDCG@10, MAP" for method in methods) + " |\n|---|---|" + "---|" * len(methods))
    for name, of_set in found.items():
        count = int((~numpy.isnan(of_set[methods[0]]["ndcg@10"])).sum())
        cells = [f"{mean(of_set[method]['ndcg@10'])[0]:.4f}, {mean(of_set[method]['map'])[0]:.4f}" for method in methods]
        print(f"| {name} | {count} | " + " | ".join(cells) + " |")
    pairs = [(one, other) for one, other in DIFFERENCES if one in methods and other in methods]
    if not pairs:
        return
    for measure in MEASURES:
        print(f"\n{measure}\n\n| set | " + " | ".join(f"{one} - {other}" for one, other in pairs) + " |\n|---|" + "---|" * len(pairs))
        columns = {pair: [] for pair in pairs}
        for name, of_set in found.items():
            for one, other in pairs:
                columns[one, other].append(mean(of_set[one][measure] - of_set[other][measure]))
            print(f"| {name} | " + " | ".join(in_words(*columns[pair][-1]) for pair in pairs) + " |")
        print("| pooled | " + " | ".join(in_words(*pooled(columns[pair])) for pair in pairs) + " |", flush=True)


if __name__ == "__main__":
    main()
