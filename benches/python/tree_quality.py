#!/usr/bin/env python3
"""Boosted trees beside LightGBM on folds: NDCG@10 and MAP of test queries, one grid for all, chosen on validation queries.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy scipy lightgbm
    /tmp/peers/bin/python benches/python/tree_quality.py target/release/burn-rank FOLDS [FOLDS ..] [--seeds 1,2,3] [--json FILE]

FOLDS has S1.txt .. S5.txt or Fold1 .. Fold5. Every method has the same grid (leaves and learning rate), at most 500 trees, early stopping on
NDCG@10 of the validation queries (the `standard` convention, both), 80 % of the queries and half of the features for each tree, 20 documents in
a leaf, l2 of 1. For each fold and seed the point of the grid with the best validation NDCG@10 is tested. A query's value is the mean over the
seeds; differences from LightGBM are paired over queries, and their p-values are those of the paired t-test, by Holm's method over the rows of a
data set. The figure after a mean is its standard error over queries.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

import lightgbm
import numpy
from scipy import stats

LEAVES = [7, 15, 31]
RATES = [0.05, 0.1]
ROUNDS, PATIENCE = 500, 60
MEASURES = ["ndcg@10", "map"]
METHODS = {
    "lambda_ndcg": 'name = "lambda_ndcg"',
    "lambda_ndcg, scores": 'name = "lambda_ndcg"\nscore_normalization = true',
    "lambda_ndcg, queries": 'name = "lambda_ndcg"\nquery_normalization = true',
    "lambda_ndcg, both": 'name = "lambda_ndcg"\nscore_normalization = true\nquery_normalization = true',
    "approx_ndcg": 'name = "approx_ndcg"\nalpha = 10.0',
    "rank_net": 'name = "rank_net"\nmean_over_pairs = true',
}


def ours(binary, folder, loss, seed, jobs):
    """Values of each test query, by measure, over all folds."""
    with tempfile.TemporaryDirectory() as out:
        config = f"""
seed = {seed}
[data]
folds = {json.dumps(os.path.abspath(folder))}
[loss]
{loss}
[learner]
kind = "boosted_trees"
rounds = {ROUNDS}
patience = {PATIENCE}
subsample = 0.8
colsample = 0.5
[measure]
convention = "standard"
select = "ndcg@10"
report = {json.dumps(MEASURES)}
[grid]
"learner.leaves" = {LEAVES}
"learner.learning_rate" = {RATES}
"""
        path = os.path.join(out, "config.toml")
        with open(path, "w") as file:
            file.write(config)
        command = [binary, "cv", path, "--out", os.path.join(out, "run"), "--jobs", str(jobs)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(out, "run", "report.json")) as file:
            details = json.load(file)["details"]
    values = {measure: [value for fold in details for value in fold["per_query"]["values"][measure]] for measure in MEASURES}
    return {measure: numpy.array([numpy.nan if value is None else value for value in column]) for measure, column in values.items()}


def parts(folder, fold):
    """Training, validation and test files of a fold, from 1."""
    if os.path.isdir(os.path.join(folder, "Fold1")):
        return [[os.path.join(folder, f"Fold{fold}", f"{part}.txt")] for part in ("train", "vali", "test")]
    file = lambda part: os.path.join(folder, f"S{(fold + part) % 5 + 1}.txt")
    return [[file(part) for part in (-1, 0, 1)], [file(2)], [file(3)]]


def read(files):
    labels, rows, queries = [], [], []
    for path in files:
        with open(path) as lines:
            for line in lines:
                fields = line.split("#")[0].split()
                labels.append(float(fields[0]))
                queries.append(fields[1])
                rows.append({int(index): float(value) for index, value in (entry.split(":") for entry in fields[2:])})
    width = max(max(row) for row in rows if row)
    features = numpy.zeros((len(rows), width))
    for row, values in zip(features, rows):
        for index, value in values.items():
            row[index - 1] = value
    sizes = [len(list(group)) for _, group in itertools.groupby(queries)]
    return numpy.array(labels), features, sizes


def per_query(data, scores):
    """NDCG@10 and AP of each query; NaN for one without a relevant document."""
    labels, _, sizes = data
    values, start = {measure: [] for measure in MEASURES}, 0
    for size in sizes:
        ranked = labels[start : start + size][numpy.argsort(-scores[start : start + size], kind="stable")]
        start += size
        gains, discounts = numpy.exp2(ranked) - 1, 1 / numpy.log2(numpy.arange(2, size + 2))
        ideal = (numpy.sort(gains)[::-1] * discounts)[:10].sum()
        relevant = ranked > 0
        precision = numpy.cumsum(relevant) / numpy.arange(1, size + 1)
        values["ndcg@10"].append((gains * discounts)[:10].sum() / ideal if ideal > 0 else numpy.nan)
        values["map"].append(precision[relevant].mean() if relevant.any() else numpy.nan)
    return {measure: numpy.array(column) for measure, column in values.items()}


def mean_ndcg(data):
    def measure(scores, _):
        return "ndcg@10", numpy.nanmean(per_query(data, scores)["ndcg@10"]), True

    return measure


def peers(folder, seed, threads):
    """The same of LightGBM."""
    found = {measure: [] for measure in MEASURES}
    for fold in range(1, 6):
        train, validation, test = (read(files) for files in parts(folder, fold))
        best = (-1.0, None)
        for leaves, rate in itertools.product(LEAVES, RATES):
            parameters = {
                "objective": "lambdarank", "metric": "none", "num_leaves": leaves, "learning_rate": rate, "min_data_in_leaf": 20,
                "lambda_l2": 1.0, "bagging_by_query": True, "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.5,
                "seed": seed, "num_threads": threads, "verbose": -1,
            }
            sets = [lightgbm.Dataset(features, labels, group=sizes) for labels, features, sizes in (train, validation)]
            stop = lightgbm.early_stopping(PATIENCE, verbose=False)
            ranker = lightgbm.train(parameters, sets[0], ROUNDS, valid_sets=[sets[1]], feval=mean_ndcg(validation), callbacks=[stop])
            value = ranker.best_score["valid_0"]["ndcg@10"]
            if value > best[0]:
                best = (value, ranker)
        values = per_query(test, best[1].predict(test[1]))
        for measure in MEASURES:
            found[measure].extend(values[measure])
    return {measure: numpy.array(column) for measure, column in found.items()}


def mean_of_seeds(runs):
    return {measure: numpy.mean([run[measure] for run in runs], axis=0) for measure in MEASURES}


def cell(values):
    values = values[~numpy.isnan(values)]
    return f"{values.mean():.4f} ± {values.std(ddof=1) / len(values) ** 0.5:.4f}"


def holm(p_values):
    """Adjusted p-values."""
    order, adjusted, largest = numpy.argsort(p_values), [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folds", nargs="+")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    everything = {}
    for folder in arguments.folds:
        name = os.path.basename(os.path.abspath(folder))
        rows = {"LightGBM": mean_of_seeds([peers(folder, seed, arguments.threads) for seed in seeds])}
        print(f"{name}: LightGBM", file=sys.stderr)
        for method, loss in METHODS.items():
            rows[method] = mean_of_seeds([ours(arguments.binary, folder, loss, seed, arguments.threads) for seed in seeds])
            print(f"{name}: {method}", file=sys.stderr)
        print(f"\n### {name}\n\n| | NDCG@10 | MAP | NDCG@10 less LightGBM's | p |\n|---|---|---|---|---|")
        others = list(METHODS)
        differences = {method: rows[method]["ndcg@10"] - rows["LightGBM"]["ndcg@10"] for method in others}
        differences = {method: values[~numpy.isnan(values)] for method, values in differences.items()}
        p_values = holm([stats.ttest_1samp(differences[method], 0.0).pvalue for method in others])
        print(f"| LightGBM {lightgbm.__version__} | {cell(rows['LightGBM']['ndcg@10'])} | {cell(rows['LightGBM']['map'])} | | |")
        for method, p_value in zip(others, p_values):
            row = rows[method]
            print(f"| {method} | {cell(row['ndcg@10'])} | {cell(row['map'])} | {cell(differences[method])} | {p_value:.2f} |", flush=True)
        everything[name] = {method: {measure: list(map(float, values)) for measure, values in row.items()} for method, row in rows.items()}
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(everything, file)


if __name__ == "__main__":
    main()
