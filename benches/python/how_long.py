#!/usr/bin/env python3
"""The table of docs/start/how_long.md: seconds of training, by documents and learner.

    python3 benches/python/how_long.py target/release/burn-rank [--documents 1000,10000,100000,1000000] [--features 50] [--limit 600]

Each cell is one `burn-rank train` on generated documents of --features features, in lists of about 20, with a fifth as many validation documents,
from an Arrow file to the saved ranker. Settings are the defaults, so early stopping ends most fits. A cell has processor seconds of one
thread, user and system: other work on the machine hardly changes them. Rounds stand behind the seconds. A cell that would take longer
than --limit, ten times the one before it, is left out. Needs Python alone.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

LENGTH = 20
LEARNERS = {
    "`regression`": '[learner]\nkind = "regression"\n',
    "`rank_svm`": '[learner]\nkind = "rank_svm"\n',
    "linear, `approx_ndcg`": '[scorer]\nkind = "linear"\n[loss]\nname = "approx_ndcg"\n[learner]\nkind = "gradient"\n',
    "perceptron, `lambda_ndcg`": '[scorer]\nkind = "mlp"\n[loss]\nname = "lambda_ndcg"\n[learner]\nkind = "gradient"\n',
    "attention, `lambda_ndcg`": '[scorer]\nkind = "attention"\n[loss]\nname = "lambda_ndcg"\n[learner]\nkind = "gradient"\npatience = 20\n',
    "trees, `lambda_ndcg`": '[loss]\nname = "lambda_ndcg"\n[learner]\nkind = "boosted_trees"\n',
}


def run(binary, folder, *arguments):
    """Runs a command with one thread, and returns its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, RAYON_NUM_THREADS="1")
    done = subprocess.run([binary, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"burn-rank {' '.join(arguments)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--documents", default="1000,10000,100000,1000000")
    parser.add_argument("--features", default="50")
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--learners", help="numbers of the learners, from 1")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    sizes = [int(size) for size in options.documents.split(",")]
    chosen = [int(number) - 1 for number in options.learners.split(",")] if options.learners else range(len(LEARNERS))
    learners = [list(LEARNERS.items())[number] for number in chosen]
    cells = {name: [] for name, _ in learners}
    last = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            shape = ["--features", options.features, "--median-length", str(LENGTH)]
            queries = max(round(size / LENGTH / 1.13), 10)  # the mean length is above the median
            run(binary, folder, "synth", "--queries", str(queries), *shape, "--out", "train.arrow")
            run(binary, folder, "synth", "--queries", str(max(queries // 5, 10)), "--seed", "2", *shape, "--out", "vali.arrow")
            for name, text in learners:
                seconds, at = last.get(name, (0.0, size))
                if seconds * size / at > options.limit:
                    cells[name].append("-")
                    continue
                with open(os.path.join(folder, "run.toml"), "w", encoding="utf-8") as file:
                    file.write('data = { train = ["train.arrow"], validation = ["vali.arrow"] }\n' + text)
                out = os.path.join(folder, "out")
                seconds = run(binary, folder, "train", "run.toml", "--quiet", "--overwrite", "--out", out)
                with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
                    report = json.load(file)
                last[name] = (seconds, size)
                cells[name].append(f"{seconds:.3g} ({report['rounds']})")
                documents = report["data"]["train"]["statistics"]["documents"]
                print(f"{documents} documents, {name}: {cells[name][-1]}", file=sys.stderr, flush=True)
    print("| learner | " + " | ".join(f"{size:,}" for size in sizes) + " |\n|---|" + "--:|" * len(sizes))
    for name, _ in learners:
        print(f"| {name} | " + " | ".join(cells[name]) + " |")


if __name__ == "__main__":
    main()
