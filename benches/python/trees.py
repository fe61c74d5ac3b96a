#!/usr/bin/env python3
"""Boosted trees beside LightGBM: seconds of fit and prediction, and memory, on the same generated queries and in the same minutes.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy lightgbm
    /tmp/peers/bin/python benches/python/trees.py target/release/burn-rank [--queries N,N] [--rounds N] [--trees N] [--threads N]

Both fit LambdaMART: 31 leaves, 255 bins, a learning rate of 0.1, 20 documents in a leaf, l2 of 1. A fit is everything from features
in memory to trees, bins included. LightGBM runs in its four ways (histograms by row and by column, exact and quantized gradients); the table
has each, ours first. Both take pairs within the first 30 ranks, with LightGBM's normalizations of the lambda (its defaults; ours by `--set`). Rounds alternate, every fit
in a process of its own; figures are medians of the rounds. Memory is the peak of the process less that of the features (and of the imports,
in Python). NDCG@10 is of the training data, in ours with the `standard` convention, computed here for LightGBM.

"processor s" is the time that a fit and a prediction have of processors, all threads together: what to compare on a machine that is not quiet, with one
thread, since LightGBM's threads spin while they wait. For ours it is that of a process of two fits less that of one of one.

The generated features have about as many values as those of MSLR-WEB: in 5,575 documents 51 % have at most 255, in a sample of as many documents of
MSLR-WEB 54 %.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import lightgbm
import numpy

FEATURES = 136
WAYS = {
    "LightGBM, rows": {"force_row_wise": True},
    "LightGBM, columns": {"force_col_wise": True},
    "LightGBM, rows, quantized": {"force_row_wise": True, "use_quantized_grad": True},
    "LightGBM, columns, quantized": {"force_col_wise": True, "use_quantized_grad": True},
}


def generated(binary, queries):
    """Labels, features and sizes of the generated queries."""
    command = [binary, "synth", "--queries", str(queries), "--features", str(FEATURES)]
    labels, rows, names = [], [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            fields = line.split("#")[0].split()
            labels.append(float(fields[0]))
            names.append(fields[1])
            row = numpy.zeros(FEATURES, dtype=numpy.float32)
            for entry in fields[2:]:
                index, value = entry.split(":")
                row[int(index) - 1] = float(value)
            rows.append(row)
    sizes = [len(list(group)) for _, group in itertools.groupby(names)]
    return numpy.array(labels), numpy.vstack(rows), sizes


def ndcg(labels, scores, sizes, cutoff=10):
    """Mean NDCG over the queries that have a relevant document."""
    values, start = [], 0
    for size in sizes:
        gains = numpy.exp2(labels[start : start + size]) - 1
        order = numpy.argsort(-scores[start : start + size], kind="stable")
        start += size
        discounts = 1 / numpy.log2(numpy.arange(2, min(size, cutoff) + 2))
        ideal = (numpy.sort(gains)[::-1][:cutoff] * discounts).sum()
        if ideal > 0:
            values.append((gains[order][:cutoff] * discounts).sum() / ideal)
    return numpy.mean(values)


def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def fit(way, folder, trees, threads):
    """Seconds of fit and prediction, of processors, MiB, NDCG@10."""
    imports = status("VmRSS:")
    labels, features, sizes = (numpy.load(f"{folder}/{name}.npy") for name in ("labels", "features", "sizes"))
    parameters = {
        "objective": "lambdarank", "num_leaves": 31, "max_bin": 255, "learning_rate": 0.1, "min_data_in_leaf": 20,
        "lambda_l2": 1.0, "num_threads": threads, "verbose": -1, "seed": 1, **WAYS[way],
    }
    start, processor = time.perf_counter(), time.process_time()
    ranker = lightgbm.train(parameters, lightgbm.Dataset(features, labels, group=sizes), trees)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    scores = ranker.predict(features, num_threads=threads)
    predict = time.perf_counter() - start
    processor = time.process_time() - processor
    memory = status("VmHWM:") - imports - features.nbytes / 2**20
    return seconds, predict, processor, memory, ndcg(labels, scores, sizes)


def ours(arguments, queries):
    """The same of ours, and the number of documents."""
    command = [arguments.binary, "bench", "trees", "--json", "--queries", str(queries), "--rounds", str(arguments.trees)]
    command += ["--set", "truncation=30", "--set", "score_normalization=true", "--set", "query_normalization=true"]
    environment = {**os.environ, "RAYON_NUM_THREADS": str(arguments.threads)}
    processor = []
    for repeats in (2, 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = subprocess.run([*command, "--repeats", str(repeats)], capture_output=True, text=True, check=True, env=environment).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    # The process of one fit has the peak of one fit.
    row = json.loads(output)
    return (row["fit_s"], row["predict_s"], processor[0] - processor[1], row["peak_mib"], row["ndcg"]), row["documents"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--queries", default="1000", help="numbers of queries, of 117 documents on average; a table for each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    for queries in arguments.queries.split(","):
        table(arguments, int(queries))


def table(arguments, queries):
    folder = tempfile.mkdtemp()
    documents = 0
    for name, values in zip(("labels", "features", "sizes"), generated(arguments.binary, queries)):
        numpy.save(f"{folder}/{name}.npy", values)
        documents = documents or len(values)
    found = {}
    processes = multiprocessing.get_context("spawn")
    for number in range(arguments.rounds):
        row, fitted = ours(arguments, queries)
        if fitted != documents:
            sys.exit(f"burn-rank fitted {fitted} documents, LightGBM {documents}")
        found.setdefault("burn-rank", []).append(row)
        for way in WAYS:
            with processes.Pool(1) as pool:
                row = pool.apply(fit, (way, folder, arguments.trees, arguments.threads))
            found.setdefault(way, []).append(row)
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)

    shutil.rmtree(folder)
    print(f"LightGBM {lightgbm.__version__}, {arguments.threads} threads; {documents:,} documents, {FEATURES} features, {arguments.trees} trees\n")
    print("| | fit s | predict s | processor s | MiB | NDCG@10 |")
    print("|---|---|---|---|---|---|")
    for way, rows in found.items():
        fit_s, predict_s, processor, memory, value = (statistics.median(column) for column in zip(*rows))
        print(f"| {way} | {fit_s:.2f} | {predict_s:.2f} | {processor:.2f} | {memory:,.0f} | {value:.4f} |")
    print(flush=True)


if __name__ == "__main__":
    main()
