#!/usr/bin/env python3
"""What the parts of boosted trees are worth, on validation queries: without a look at test queries.

    python3 benches/python/tree_defaults.py target/release/burn-rank normalizations|truncation|steps DATA [DATA ..] [--seeds 1,2,3] [--only VARIANT] [--json FILE]

DATA is a folder of folds, a file, which is cut into five folds by query, LightGBM's example (a folder with rank.train), or the name of a
generated set: generated, short, long, noisy. `burn-rank synth` makes the latter in a folder of their own. Every variant has the same grid (leaves), 300 trees at most, early
stopping on NDCG@10 of the validation queries, 80 % of the queries and half of the features for each tree, and the defaults for the rest. The value
of a fold is that of its best point of the grid, mean over the seeds, in the `standard` convention. The difference is from the first variant;
the figure after it is its standard error over folds, paired.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

LEAVES = [7, 31]
# What `burn-rank synth --parts 5` is told.
GENERATED = {
    "generated": "--queries 2000 --features 40 --median-length 15 --seed 303",
    "short": "--queries 2000 --features 40 --median-length 7 --noise 0.4 --seed 404",
    "long": "--queries 300 --features 136 --median-length 105 --noise 0.8 --seed 505",
    "noisy": "--queries 1200 --features 60 --median-length 30 --noise 1.6 --seed 606",
}
LAMBDA = 'name = "lambda_ndcg"\n'
PAPERS = 'temperature_unit = "score"\n'
# Name: keys of the loss, keys of the learner.
COMPARED = {
    "normalizations": {
        "neither (the default)": (LAMBDA, ""),
        "score_normalization": (LAMBDA + "score_normalization = true", ""),
        "query_normalization": (LAMBDA + "query_normalization = true", ""),
        "both": (LAMBDA + "score_normalization = true\nquery_normalization = true", ""),
    },
    "truncation": {
        "neither (the default)": (LAMBDA, ""),
        "truncation = 10": (LAMBDA + "truncation = 10", ""),
        "truncation = 30": (LAMBDA + "truncation = 30", ""),
        "k = 10": (LAMBDA + "k = 10", ""),
    },
    "steps": {
        "lambda_ndcg, newton (the default)": (LAMBDA, ""),
        "lambda_ndcg, balance": (LAMBDA, 'steps = "balance"'),
        "soft_ndcg, line_search, sigma = 1 (as in the papers)": ('name = "soft_ndcg"\n' + PAPERS, 'steps = "line_search"'),
        "soft_ndcg, balance, sigma = 1 (as in the papers)": ('name = "soft_ndcg"\n' + PAPERS, ""),
        "soft_ndcg, line_search, sigma = 0.5 spreads": ('name = "soft_ndcg"\nsigma = 0.5\ntemperature_unit = "spread"', 'steps = "line_search"'),
        "soft_ndcg, balance, sigma = 0.25 spreads": ('name = "soft_ndcg"\nsigma = 0.25\ntemperature_unit = "spread"', ""),
        "soft_ndcg, balance, sigma = 0.5 spreads (the default)": ('name = "soft_ndcg"', ""),
        "soft_ndcg, balance, sigma = 0.5 spreads, l2 = 1": ('name = "soft_ndcg"', "l2 = 1.0"),
        "approx_ndcg, line_search, alpha = 10 (as in the papers)": ('name = "approx_ndcg"\n' + PAPERS, 'steps = "line_search"'),
        "approx_ndcg, balance (the default)": ('name = "approx_ndcg"', ""),
        "approx_ap, line_search, alpha = 10 (as in the papers)": ('name = "approx_ap"\n' + PAPERS, 'steps = "line_search"'),
        "soft_ap, balance (the default)": ('name = "soft_ap"', ""),
    },
}


def folds_of(binary, data, folder):
    """The data that burn-rank reads, made in a folder where they are not there yet."""
    if data in GENERATED:
        subprocess.run([binary, "synth", *GENERATED[data].split(), "--parts", "5", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        return folder
    if os.path.exists(os.path.join(data, "rank.train")):
        from own_data import parts_of, with_queries

        files = [with_queries(os.path.join(data, f"rank.{part}"), os.path.join(folder, f"{part}.txt")) for part in ("train", "test")]
        return parts_of(os.path.join(folder, "parts"), files)
    return data


def validation(binary, data, variant, seeds):
    """The value of each fold."""
    loss, learner = variant
    path = json.dumps(os.path.abspath(data))
    source, split = (f"folds = {path}", "") if os.path.isdir(data) else (f"train = [{path}]", "split = 5")
    text = f"""
[data]
{source}
[loss]
{loss}
[learner]
kind = "boosted_trees"
rounds = 300
patience = 30
subsample = 0.8
colsample = 0.5
{learner}
[measure]
select = "ndcg@10"
report = ["ndcg@10"]
[cv]
seeds = {seeds}
{split}
[grid]
"learner.leaves" = {LEAVES}
"""
    with tempfile.TemporaryDirectory() as out:
        config = os.path.join(out, "config.toml")
        with open(config, "w") as file:
            file.write(text)
        command = [binary, "cv", config, "--out", os.path.join(out, "run"), "--jobs", "1"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(out, "run", "report.json")) as file:
            return [max(fold["points"]) for fold in json.load(file)["details"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("compared", choices=COMPARED)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--only", help="run only this variant and the first one")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    everything = {}
    print("| data | variant | validation NDCG@10 | difference from the first |\n|---|---|---|---|")
    for data in arguments.data:
        name = os.path.basename(os.path.abspath(data))
        first = None
        with tempfile.TemporaryDirectory() as folder:
            data = folds_of(arguments.binary, data, folder)
            for variant, keys in COMPARED[arguments.compared].items():
                if first and arguments.only not in (None, variant):
                    continue
                values = validation(arguments.binary, data, keys, seeds)
                first = first or values
                differences = [value - base for value, base in zip(values, first)]
                error = statistics.stdev(differences) / len(differences) ** 0.5
                difference = f"{statistics.mean(differences):+.4f} ± {error:.4f}" if values is not first else ""
                print(f"| {name} | {variant} | {statistics.mean(values):.4f} | {difference} |", flush=True)
                everything.setdefault(name, {})[variant] = values
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(everything, file)


if __name__ == "__main__":
    main()
