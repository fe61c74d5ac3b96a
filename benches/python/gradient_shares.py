#!/usr/bin/env python3
"""How unequal the gradients of queries are: the table under "Unit gradients" of benchmarks/losses.md.

    python3 benches/python/gradient_shares.py target/release/burn-rank

Generated queries are scored by a perceptron that `list_net` trained for 1 and for 20 epochs. A figure is the share of the
length of all queries' gradients that the tenth of the queries with the longest ones has, raw and with unit gradients. The
last column is the share of the queries whose raw length is from 1e-6 to 1e-4. Python's standard library is enough.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile

LOSSES = [
    "list_net",
    "lambda_ndcg",
    "approx_ndcg",
    "soft_ndcg",
    "smooth_ndcg",
    "ap:expected_ranks",
    "err:rank_indicators",
    "rr:expected_ranks",
]
SYNTH = ["--queries", "600", "--features", "40", "--median-length", "20", "--seed", "911", "--parts", "3"]
CONFIG = """\
normalizer = "gauss"
data = { train = ["data/S1.txt"] }
scorer = { kind = "mlp", hidden = [64], dropout = 0.0 }
loss = { name = "list_net" }
learner = { kind = "gradient", batch_queries = 32, learning_rate = 0.001 }
"""
EPOCHS = [1, 20]


def lists(folder, scores):
    """Labels and scores of each query, a JSON object a line."""
    queries = {}
    with open(os.path.join(folder, "data", "S1.txt")) as lines:
        for line, score in zip(lines, scores, strict=True):
            label, query = line.split()[:2]
            labels, found = queries.setdefault(query, ([], []))
            labels.append(float(label))
            found.append(float(score))
    return "".join(json.dumps({"scores": scores, "labels": labels}) + "\n" for labels, scores in queries.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("burn_rank")
    binary = os.path.abspath(parser.parse_args().burn_rank)
    with tempfile.TemporaryDirectory() as folder:

        def run(*arguments, text=None):
            command = [binary, *arguments]
            return subprocess.run(command, cwd=folder, check=True, text=True, input=text, stdout=subprocess.PIPE).stdout

        def lengths(name, text, *more):
            found = map(json.loads, run("loss", name, "-", *more, text=text).splitlines())
            # Without a value there is nothing to learn.
            return sorted((math.hypot(*query["grad"]) for query in found if query["value"] is not None), reverse=True)

        def share(found):
            return f"{100 * sum(found[: len(found) // 10]) / sum(found):.1f} %"

        run("synth", *SYNTH, "--out", "data")
        with open(os.path.join(folder, "ln.toml"), "w") as file:
            file.write(CONFIG)
        texts = []
        for epochs in EPOCHS:
            out = f"run{epochs}"
            run("train", "ln.toml", "-q", "--out", out, "--set", f"learner.epochs={epochs}")
            texts.append(lists(folder, run("predict", out, "data/S1.txt").split()))
        print("| loss | raw, 1 epoch | raw, 20 epochs | unit, 1 and 20 epochs | from 1e-6 to 1e-4, 1 and 20 epochs |")
        print("|---|---|---|---|---|")
        for name in LOSSES:
            raw = [lengths(name, text) for text in texts]
            unit = [share(lengths(name, text, "--set", "query_gradients=unit")) for text in texts]
            small = [100 * sum(1e-6 <= length <= 1e-4 for length in found) / len(found) for found in raw]
            columns = [*map(share, raw), ", ".join(unit), ", ".join(f"{share:g} %" for share in small)]
            print(f"| `{name}` | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
