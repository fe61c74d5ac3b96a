#!/usr/bin/env python3
"""Validation NDCG@10 of surrogates on short lists, by the power with which a temperature in spreads follows their length.

    python3 benches/python/short_lists.py target/release/burn-rank MQ2008 OHSUMED [--documents 3,4,6]
        [--powers 0,1,2] [--relaxations soft_sort,..] [--seed N]

Published lists are long. So the documents of each query are shuffled and cut into lists of a few, at most 8 from each
query, with their features and labels. In lists of n documents the power p is the temperature at p = 0 times (8 / n)^p.
Linear scorer, Adam 0.01, 16 queries in a step, 10 epochs. Every value is a mean over the validation queries of the folds;
test queries are not read. A cell that is not there yet runs; what has run stands in short_lists.jsonl.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile

# The key of the temperature, its default in spreads, the exponent of the spread in it, and the default power.
RELAXATIONS = {
    "approximate_positions": ("alpha", 20.0, -1, 2),
    "sigmoid_ranks": ("sigma", 0.05, 1, 2),
    "rank_indicators": ("sigma", 0.02, 2, 1),
    "expected_ranks": ("sigma", 0.1, 1, 2),
    "neural_sort": ("sigma", 0.2, 1, 0),
    "soft_sort": ("sigma", 0.075, 1, 1),
    "smooth_indicators": ("alpha", 10.0, -1, 2),
    "projected_ranks": ("sigma", 0.00625, 1, 7),
}
# The most lists that a query is cut into.
LISTS = 8
OUT = pathlib.Path("short_lists.jsonl")


def cut(folder, into, documents, seed):
    """Writes the folds with each query cut into lists of so many documents."""
    for path in sorted(folder.rglob("*.txt")):
        queries = {}
        for line in path.read_text().splitlines():
            label, query, rest = line.split(" ", 2) if " qid:" in line[:12] else (None, None, None)
            if query is not None:
                queries.setdefault(query, []).append((label, rest.split("#")[0].strip()))
        if not queries:
            continue
        lines = []
        for query, rows in queries.items():
            random.Random(f"{seed} {query}").shuffle(rows)
            starts = range(0, len(rows) - documents + 1, documents)
            for number, start in enumerate(starts[:LISTS]):
                lines += [f"{label} {query}{number:04} {rest}" for label, rest in rows[start : start + documents]]
        to = into / path.relative_to(folder)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("\n".join(lines) + "\n")


def built_in(name, documents):
    """What the default takes times the spread."""
    return (8 / documents) ** RELAXATIONS[name][3]


def validation(binary, folder, name, documents, power, seed):
    """Mean validation NDCG@10 over the folds, one value for each fold."""
    key, default, exponent, _ = RELAXATIONS[name]
    factor = (8 / documents) ** power / built_in(name, documents)
    text = f"""seed = {seed}
[data]
folds = "{folder}"
[loss]
name = "relaxed_measure"
measure = "ndcg"
relaxation = "{name}"
{key} = {default * factor**exponent!r}
temperature_unit = "spread"
[scorer]
kind = "linear"
[learner]
kind = "gradient"
epochs = 10
batch_queries = 16
learning_rate = 0.01
optimizer = {{ kind = "adam" }}
[measure]
convention = "standard"
select = "ndcg@10"
report = ["ndcg@10"]
"""
    with tempfile.TemporaryDirectory() as work:
        config = pathlib.Path(work) / "short.toml"
        config.write_text(text)
        command = [binary, "cv", str(config), "--out", f"{work}/run", "--json", "-q"]
        found = subprocess.run(command, capture_output=True, text=True)
        if found.returncode:
            raise SystemExit(f"{' '.join(command)}\n{found.stderr}")
    return [fold["validation"] for fold in json.loads(found.stdout)["folds"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--documents", default="3,4,6")
    parser.add_argument("--powers", help="by default the power of each relaxation and its neighbors")
    parser.add_argument("--relaxations", default=",".join(RELAXATIONS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    done = {}
    if OUT.exists():
        for row in map(json.loads, OUT.read_text().splitlines()):
            done[tuple(row["cell"])] = row["validation"]
    for folder in arguments.folders:
        for documents in map(int, arguments.documents.split(",")):
            with tempfile.TemporaryDirectory() as work:
                cut(folder, pathlib.Path(work), documents, arguments.seed)
                for name in arguments.relaxations.split(","):
                    default = RELAXATIONS[name][3]
                    near = [0, 1, 2, 3, 4] if default < 6 else [0, 2, 4, 6, 8]
                    powers = map(int, arguments.powers.split(",")) if arguments.powers else near
                    cells = []
                    for power in powers:
                        cell = (folder.name, documents, name, power, arguments.seed)
                        if cell not in done:
                            done[cell] = validation(arguments.binary, work, name, documents, power, arguments.seed)
                            with OUT.open("a") as out:
                                out.write(json.dumps({"cell": cell, "validation": done[cell]}) + "\n")
                        cells.append(f"{power}: {sum(done[cell]) / len(done[cell]):.4f}")
                    print(f"{folder.name:<16} {documents} {name:<22} {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
