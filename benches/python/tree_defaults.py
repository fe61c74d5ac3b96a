#!/usr/bin/env python3
"""The normalizations of lambda_ndcg on validation queries: what they are worth in boosted trees, without a look at test queries.

    python3 benches/python/tree_defaults.py target/release/burn-rank DATA [DATA ..] [--seeds 1,2,3] [--json FILE]

DATA is a folder of folds, or a file, which is cut into five folds by query. Every variant has the same grid (leaves), 300 trees at most, early
stopping on NDCG@10 of the validation queries, 80 % of the queries and half of the features for each tree, and the defaults for the rest. The value
of a fold is that of its best point of the grid, mean over the seeds, in the `standard` convention. The figure after a difference is its standard
error over folds, paired.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

LEAVES = [7, 31]
VARIANTS = {
    "neither (the default)": "",
    "score_normalization": "score_normalization = true",
    "query_normalization": "query_normalization = true",
    "both": "score_normalization = true\nquery_normalization = true",
}


def validation(binary, data, variant, seeds):
    """The value of each fold."""
    path = json.dumps(os.path.abspath(data))
    source, split = (f"folds = {path}", "") if os.path.isdir(data) else (f"train = [{path}]", "split = 5")
    text = f"""
[data]
{source}
[loss]
name = "lambda_ndcg"
{variant}
[learner]
kind = "boosted_trees"
rounds = 300
patience = 30
subsample = 0.8
colsample = 0.5
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
    parser.add_argument("data", nargs="+")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    everything = {}
    print("| data | variant | validation NDCG@10 | less that of neither |\n|---|---|---|---|")
    for data in arguments.data:
        name = os.path.basename(os.path.abspath(data))
        first = None
        for variant, keys in VARIANTS.items():
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
