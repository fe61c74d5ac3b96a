#!/usr/bin/env python3
"""Every loss and every cell of measure and relaxation by the defaults of files, next to ListNet: a network and a linear ranker on the same data.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy
    /tmp/peers/bin/python benches/python/every_loss.py target/release/burn-rank --out FOLDER [SET ..] [--table figures|temperatures]
        [--rankers network,linear] [--only PATTERN] [--seeds 1] [--jobs N] [--made]

A SET is one that neural_quality.py generates (gen, new, unseen, big, steps), or NAME=FOLDER with S1.txt .. S5.txt or Fold1 .. Fold5. Every
fit is one of `burn-rank cv`, whose configuration names the scorer, the loss and the measure. What is in --out is not run again: a run goes on
where an earlier one ended. --only runs the methods whose names match, which are losses, such as `lambda_ndcg` and `ap:soft_sort`, and with
temperatures a value after it; the three relaxations that hold tensors of pairs take ten times as long as the others.

--table figures (the default): test queries. A figure is a difference from `list_net`, paired over queries, with its standard error; sets are
weighed by 1 / SE^2. Each fit keeps the round with the best NDCG@10 of the validation queries. The last table of each kind of ranker has each
cell's own measure, next to four bounds.

--table temperatures: validation queries alone. NDCG and AP through each relaxation at half the default temperature, at the default and at twice
it. A figure is the mean over sets and folds of the difference from `list_net`, in the NDCG@10 of NDCG and the MAP of AP; the measure of the
figure selects the round.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import neural_quality
from neural_quality import ALL_FOLDS, MEASURES, SETS, in_words, mean, of_queries, pooled

RANKERS = {"network": [], "linear": ["scorer={kind=\"linear\"}"]}
# What burn-rank calls each measure of a cell when it is exact.
OWN = {
    "ndcg": "ndcg@10", "dcg": "dcg@10", "ap": "map", "rr": "mrr", "err": "err", "precision": "p@5", "recall": "recall@5", "success": "success@5",
    "rbp": "rbp@p=0.8", "r_precision": "r_precision", "kendall_tau": "kendall_tau",
}
# The default temperature in spreads; that of rank_indicators is in variances, so that half a temperature is a quarter.
RELAXATIONS = {
    "approximate_positions": ("alpha", 20), "sigmoid_ranks": ("sigma", 0.05), "rank_indicators": ("sigma", 0.02), "expected_ranks": ("sigma", 0.1),
    "neural_sort": ("sigma", 0.2), "soft_sort": ("sigma", 0.075), "smooth_indicators": ("alpha", 10), "projected_ranks": ("sigma", 0.00625),
}
BASE = "list_net"
# Bounds that stand next to the cells in the table of each cell's own measure.
BOUNDS = ["softmax_cross_entropy", "lambda_ndcg", "lambda_loss", "rank_net"]
# Short names of cells, which are in the tables as cells.
SHORT = ("approx_", "smooth_", "soft_", "relaxed_measure")


def named_losses(binary):
    listed = subprocess.run([binary, "models", "--losses", "--json"], check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in (json.loads(line)["loss"] for line in listed) if not name.startswith(SHORT)]


def temperatures(relaxation):
    key, value = RELAXATIONS[relaxation]
    times = 4 if relaxation == "rank_indicators" else 2
    return key, [value / times, value, value * times] if key == "sigma" else [value * times, value, value / times]


def methods_of(arguments):
    """Name, keys and selecting measure of each method. Its name is the loss, and with temperatures the value or what selects."""
    if arguments.table == "temperatures":
        for measure, select in (("ndcg", "ndcg@10"), ("ap", "map")):
            yield f"{BASE} {select}", [f"loss.name={BASE}"], select
            for relaxation in RELAXATIONS:
                key, values = temperatures(relaxation)
                for value in values:
                    keys = [f"loss.name={measure}:{relaxation}", f"loss.{key}={value}", "loss.temperature_unit=spread"]
                    yield f"{measure}:{relaxation} {value:g}", keys, select
        return
    for name in [*named_losses(arguments.binary), *(f"{measure}:{relaxation}" for measure in OWN for relaxation in RELAXATIONS)]:
        yield name, [f"loss.name={name}"], "ndcg@10"


def place(arguments, name, ranker, method):
    return os.path.join(arguments.out, name, ranker, re.sub("[ :]", "-", method))


def run(arguments, sets, methods):
    report = json.dumps(sorted({*MEASURES, *OWN.values()}))

    def one(job):
        name, (folder, folds), ranker, (method, keys, select) = job
        keys = [*RANKERS[ranker], *keys, f"measure.report={report}", f"measure.select={select}"]
        try:
            neural_quality.net(arguments.binary, folder, folds, keys, arguments.seeds, 1, place(arguments, name, ranker, method))
            return f"{name}, {ranker}, {method}"
        except subprocess.CalledProcessError as error:
            return f"{name}, {ranker}, {method}: exit code {error.returncode}"

    jobs = [(name, where, ranker, method) for ranker in arguments.rankers for name, where in sets.items() for method in methods]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for number, done in enumerate(pool.map(one, jobs), 1):
            print(f"{number} of {len(jobs)}: {done}", file=sys.stderr, flush=True)


def reports(arguments, sets, methods, ranker):
    """The report of each method that was run, by set."""
    found = {name: {} for name in sets}
    for name in sets:
        for method, _, _ in methods:
            path = os.path.join(place(arguments, name, ranker, method), "report.json")
            if os.path.exists(path):
                with open(path) as file:
                    found[name][method] = json.load(file)
    return found


def over_sets(figures):
    """The figures pooled, empty where a set is missing."""
    return in_words(*pooled(figures)) if all(figures) else ""


def row(*cells):
    print("| " + " | ".join(cells) + " |")


def head(*cells):
    row(*cells)
    print("|---" * len(cells) + "|")


def figures_tables(arguments, sets, methods):
    for ranker in arguments.rankers:
        found = {
            name: {method: {measure: of_queries(report, measure) for measure in {*MEASURES, *OWN.values()}} for method, report in of_set.items()}
            for name, of_set in reports(arguments, sets, methods, ranker).items()
        }
        difference = lambda method, measure: neural_quality.differences(found, method, BASE, measure)
        print(f"\n### {ranker}\n")
        head("loss", *found, "pooled, NDCG@10", "pooled, MAP")
        of_base = [mean(of_set[BASE]["ndcg@10"]) for of_set in found.values()]
        row(f"`{BASE}`, its NDCG@10", *(f"{value:.4f} ± {error:.4f}" for value, error in of_base), "", "")
        rows = []
        for name, _, _ in methods:
            figures = difference(name, "ndcg@10")
            if name != BASE and all(figures) and (":" not in name or name.startswith(("ndcg:", "ap:"))):
                rows.append((pooled(figures)[0], name, figures))
        for _, name, figures in sorted(rows, reverse=True):
            row(f"`{name}`", *(in_words(*figure) for figure in figures), over_sets(figures), over_sets(difference(name, "map")))
        for title, looked_at in (("NDCG@10", "ndcg@10"), ("MAP", "map"), ("its own measure", None)):
            print(f"\n#### {ranker}: cells, {title}\n")
            rows = {}
            for measure, own in OWN.items():
                of_cells = {relaxation: over_sets(difference(f"{measure}:{relaxation}", looked_at or own)) for relaxation in RELAXATIONS}
                if any(of_cells.values()):
                    rows[measure] = of_cells if looked_at else {**{name: over_sets(difference(name, own)) for name in BOUNDS}, **of_cells}
            ran = [name for name in (*([] if looked_at else BOUNDS), *RELAXATIONS) if any(of_row[name] for of_row in rows.values())]
            head("measure", *(f"`{name}`" for name in ran))
            for measure, of_row in rows.items():
                row(f"`{measure}`" if looked_at else f"`{measure}`, in {OWN[measure]}", *(of_row[name] for name in ran))


def temperature_tables(arguments, sets, methods):
    validation = lambda report: [fold["validation"] for fold in report["folds"]]
    found = {ranker: reports(arguments, sets, methods, ranker) for ranker in arguments.rankers}

    def figure(ranker, measure, select, relaxation, value):
        differences = []
        for reports_of in found[ranker].values():
            one, base = reports_of.get(f"{measure}:{relaxation} {value:g}"), reports_of.get(f"{BASE} {select}")
            if not one or not base:
                return ""
            differences += [[a - b for a, b in zip(validation(one), validation(base))]]
        return f"{statistics.mean(map(statistics.mean, differences)):+.4f}"

    columns = [(ranker, measure, select) for ranker in arguments.rankers for measure, select in (("ndcg", "ndcg@10"), ("ap", "map"))]
    head("relaxation", "temperature", *(f"{ranker}, `{measure}` in {select}" for ranker, measure, select in columns))
    for relaxation in RELAXATIONS:
        key, values = temperatures(relaxation)
        for value, what in zip(values, ("half", "default", "twice")):
            figures = [figure(*column, relaxation, value) for column in columns]
            if any(figures):
                row(f"`{relaxation}`", f"{what}: `{key}` {value:g}", *figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=os.path.abspath)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--out", required=True)
    parser.add_argument("--table", choices=["figures", "temperatures"], default="figures")
    parser.add_argument("--rankers", default="network,linear", type=lambda text: text.split(","))
    parser.add_argument("--only", default="", type=re.compile)
    parser.add_argument("--seeds", default="1", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--made", action="store_true", help="run nothing: print what is in --out")
    arguments = parser.parse_intermixed_args()
    unknown = [ranker for ranker in arguments.rankers if ranker not in RANKERS]
    if unknown:
        sys.exit(f"--rankers: found {unknown[0]}, expected {' or '.join(RANKERS)}")
    sets = {}
    for name in arguments.sets or ["gen", "unseen"]:
        name, _, folder = name.partition("=")
        sets[name] = (folder, ALL_FOLDS) if folder else (neural_quality.generated(arguments.binary, arguments.out, name), SETS[name][1])
    methods = list(methods_of(arguments))
    if not arguments.made:
        run(arguments, sets, [method for method in methods if method[0].startswith(BASE) or arguments.only.search(method[0])])
    {"figures": figures_tables, "temperatures": temperature_tables}[arguments.table](arguments, sets, methods)


if __name__ == "__main__":
    main()
