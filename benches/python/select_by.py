#!/usr/bin/env python3
"""The table of docs/how-to/select_by.md: what a ranker loses on one measure when another one selects its round.

    python3 benches/python/select_by.py target/release/burn-rank SHARED [--out FOLDER]

SHARED/data has the research data (CONTRIBUTING.md says how to get them). Each set is cross-validated once for each measure that selects
the round, with everything else equal: five folds, a perceptron and boosted trees with `lambda_ndcg`, seed 1. `compare` then
pairs the test queries. A cell is the difference from selection by the measure of its column, with the standard error over queries of the
paired differences, pooled over the sets by their numbers of queries. Needs Python alone. About a quarter of an hour of one core; finished runs in
FOLDER are not made again.
"""

import argparse
import json
import math
import os
import subprocess
import sys

SELECT = ["ndcg@10", "ndcg", "ndcg@1", "map", "mrr"]
REPORT = ["ndcg@10", "ndcg@1", "map", "mrr"]
LEARNERS = {
    "perceptron": '[scorer]\nkind = "mlp"\n[loss]\nname = "lambda_ndcg"\n[learner]\nkind = "gradient"\n',
    "trees": '[loss]\nname = "lambda_ndcg"\n[learner]\nkind = "boosted_trees"\nleaves = 15\n',
}
SYNTH = ["--queries", "1000", "--features", "40", "--median-length", "20", "--seed", "911", "--parts", "5"]


def run(binary, *arguments):
    environment = dict(os.environ, RAYON_NUM_THREADS="1")
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"burn-rank {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("shared")
    parser.add_argument("--out", default="select_by")
    options = parser.parse_args()
    binary, out = os.path.abspath(options.binary), options.out
    os.makedirs(out, exist_ok=True)
    generated = os.path.join(out, "generated")
    if not os.path.isdir(generated):
        run(binary, "synth", *SYNTH, "--out", generated)
    data = {name: os.path.join(options.shared, "data", name) for name in ["mq2008", "letor3-ohsumed"]} | {"generated": generated}
    found = {}
    for learner, text in LEARNERS.items():
        for name, folder in data.items():
            runs = {}
            for select in SELECT:
                runs[select] = os.path.join(out, f"{name}-{learner}-{select}")
                config = os.path.join(out, f"{name}-{learner}.toml")
                with open(config, "w", encoding="utf-8") as file:
                    file.write(f'data = {{ folds = {json.dumps(os.path.abspath(folder))} }}\n[measure]\nreport = {json.dumps(REPORT)}\n{text}')
                run(binary, "cv", config, "--jobs", "1", "--quiet", "--set", f'measure.select="{select}"', "--out", runs[select])
                print(f"{name} {learner} by {select}", file=sys.stderr, flush=True)
            for measure in REPORT:
                for select in SELECT:
                    if select == measure:
                        continue
                    compared = run(binary, "compare", runs[measure], runs[select], "-m", measure, "--resamples", "1000", "--json")
                    pair = json.loads(compared)["measures"][measure]["pairs"][0]
                    t = pair["t_test"]["t"]
                    difference = pair["mean_difference"]
                    error = abs(difference / t) if t else 0.0
                    found.setdefault((learner, measure, select), []).append((pair["queries"], difference, error, name))
    for learner in LEARNERS:
        print(f"\n| {learner}: selected by | " + " | ".join(REPORT) + " |\n|---|" + "--:|" * len(REPORT))
        for select in SELECT:
            cells = []
            for measure in REPORT:
                parts = found.get((learner, measure, select))
                if parts is None:
                    cells.append("")
                    continue
                total = sum(part[0] for part in parts)
                difference = sum(part[0] * part[1] for part in parts) / total
                error = math.sqrt(sum((part[0] * part[2]) ** 2 for part in parts)) / total
                cells.append(f"{difference:+.4f} ± {error:.4f}")
            print(f"| {select} | " + " | ".join(cells) + " |")
        for (of, measure, select), parts in found.items():
            if of == learner:
                print("   ", measure, "by", select, *(f"{name} {difference:+.4f} ± {error:.4f}" for _, difference, error, name in parts), file=sys.stderr)


if __name__ == "__main__":
    main()
