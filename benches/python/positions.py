#!/usr/bin/env python3
"""Factors of positions beside LightGBM's, on clicks that a cascade makes on LightGBM's own ranking example.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy scipy lightgbm
    /tmp/peers/bin/python benches/python/positions.py target/release/burn-rank EXAMPLE [--seeds 10,11,12,13,14] [--json FILE]

EXAMPLE has rank.train, rank.train.query, rank.test and rank.test.query of LightGBM's example `lambdarank`. The clicks are those of LightGBM's test
`test_ranking_with_position_information_with_file`: documents are shown in the order of feature 34; a user goes down the list, clicks a document of
grade 0 to 4 with probability .4, .6, .7, .8, .9, and leaves after each document with probability .2. Each seed draws other clicks; that of the test is 10. Both systems grow 50
trees on the clicks, with LightGBM's settings of that test, once with positions and once without, and are measured by NDCG@3 on the grades of rank.test
(LightGBM's convention). The factors are compared after 20 trees.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile

import lightgbm
import numpy

FEATURE = 34
CHANCES = [0.4, 0.6, 0.7, 0.8, 0.9]
LEAVES = 0.2
TREES, FACTORS_AFTER, SHOWN = 50, 20, 5

CONFIG = """
[data]
train = ["rank.train"]
test = ["rank.test"]
[loss]
name = "lambda_ndcg"
truncation = 30
score_normalization = true
query_normalization = true
[learner]
kind = "boosted_trees"
min_documents = 50
min_curvature = 5.0
l2 = 0.0
subsample = 0.9
patience = 1000
rounds = {trees}
{position}
[measure]
convention = "lightgbm"
select = "ndcg@3"
report = ["ndcg@3"]
round = {trees}
"""
POSITION = 'position = { kind = "additive" }'


def queries(example, name):
    with open(os.path.join(example, name)) as lines, open(os.path.join(example, f"{name}.query")) as sizes:
        rows = [line.split() for line in lines]
        ends = numpy.cumsum([int(size) for size in sizes])
    return numpy.split(numpy.array(rows, dtype=object), ends[:-1])


def feature(row):
    return next((float(cell.split(":")[1]) for cell in row[1:] if cell.split(":")[0] == str(FEATURE)), 0.0)


def click(example, folder, seed):
    """Writes rank.train with clicks for grades, and its positions."""
    draw = random.Random(seed)
    for name in ["rank.train.query", "rank.test", "rank.test.query"]:
        shutil.copy(os.path.join(example, name), folder)
    with open(os.path.join(folder, "rank.train"), "w") as train, open(os.path.join(folder, "rank.train.position"), "w") as places:
        for rows in queries(example, "rank.train"):
            shown = sorted(range(len(rows)), key=lambda row: -feature(rows[row]))
            clicks, is_there = [0] * len(rows), True
            for row in shown:
                if is_there:
                    clicks[row] = int(draw.random() < CHANCES[int(rows[row][0])])
                    is_there = draw.random() >= LEAVES
            ranks = numpy.argsort(shown)
            for row, clicked, rank in zip(rows, clicks, ranks):
                train.write(" ".join([str(clicked), *row[1:]]) + "\n")
                places.write(f"{rank}\n")


def ours(binary, folder, trees, position):
    """NDCG@3 of the test queries, and the factors by position."""
    with open(os.path.join(folder, "run.toml"), "w") as file:
        file.write(CONFIG.format(trees=trees, position=POSITION if position else ""))
    command = [os.path.abspath(binary), "train", "run.toml", "--quiet", "--overwrite", "--out", "run"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "run", "report.json")) as file:
        report = json.load(file)
    factors = {int(found["position"]): found["factor"] for found in report.get("positions", [])}
    return report["measures"]["test"]["measures"]["ndcg@3"], factors


class Log:
    """LightGBM prints its factors after each tree, as lines of a position and a factor."""

    def __init__(self):
        self.factors = {}

    def info(self, text):
        words = text.replace("[LightGBM] [Debug]", "").split()
        if len(words) == 2 and words[0].isdigit():
            self.factors[int(words[0])] = float(words[1])

    warning = debug = info


def theirs(folder, trees, position):
    places = os.path.join(folder, "rank.train.position")
    hidden = places + ".hidden"
    if not position:
        os.rename(places, hidden)
    try:
        log = Log()
        lightgbm.register_logger(log)
        parameters = {
            "objective": "lambdarank", "metric": "ndcg", "eval_at": [3], "verbose": 2, "bagging_freq": 1, "bagging_fraction": 0.9,
            "min_data_in_leaf": 50, "min_sum_hessian_in_leaf": 5.0, "num_threads": 1,
        }  # fmt: skip
        train = lightgbm.Dataset(os.path.join(folder, "rank.train"), params=parameters)
        test = train.create_valid(os.path.join(folder, "rank.test"))
        booster = lightgbm.train(parameters, train, valid_sets=[test], num_boost_round=trees)
        return booster.best_score["valid_0"]["ndcg@3"], log.factors
    finally:
        if not position:
            os.rename(hidden, places)


def first(factors):
    return [factors[place] for place in range(SHOWN)]


def order(factors):
    return [place for _, place in sorted(zip([-factor for factor in first(factors)], range(SHOWN)))]


def row(name, cells):
    print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("example")
    parser.add_argument("--seeds", default="10,11,12,13,14")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    found = []
    for seed in map(int, arguments.seeds.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            click(arguments.example, folder, seed)
            systems = {
                "burn-rank": lambda trees, position: ours(arguments.binary, folder, trees, position),
                "LightGBM": lambda trees, position: theirs(folder, trees, position),
            }
            for name, fit in systems.items():
                with_positions, without = fit(TREES, True)[0], fit(TREES, False)[0]
                factors = fit(FACTORS_AFTER, True)[1]
                found.append({"system": name, "seed": seed, "with": with_positions, "without": without, "factors": first(factors), "order": order(factors)})
    row("system", ["without positions", "with", "difference, mean of the seeds", "each seed"])
    print("|---|---|---|---|---|")
    for name in ["burn-rank", "LightGBM"]:
        mine = [row for row in found if row["system"] == name]
        before, after = (numpy.array([row[key] for row in mine]) for key in ["without", "with"])
        gains = after - before
        cells = [f"{before.mean():.4f}", f"{after.mean():.4f}", f"{gains.mean():+.4f}", ", ".join(f"{gain:+.3f}" for gain in gains)]
        row(name, cells)
    print(f"\nFactors of the first {SHOWN} positions after {FACTORS_AFTER} trees:\n")
    row("seed", ["system", *map(str, range(SHOWN)), "order"])
    print("|---" * (SHOWN + 3) + "|")
    for each in sorted(found, key=lambda row: row["seed"]):
        row(str(each["seed"]), [each["system"], *(f"{factor:.3f}" for factor in each["factors"]), " ".join(map(str, each["order"]))])
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
