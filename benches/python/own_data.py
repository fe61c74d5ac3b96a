#!/usr/bin/env python3
"""What `check`, `init` and `cv --refit` make of data that they see for the first time.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy lightgbm
    /tmp/peers/bin/python benches/python/own_data.py target/release/burn-rank SHARED --out FOLDER [commands] [start] [broken]
    /tmp/peers/bin/python benches/python/own_data.py target/release/burn-rank SHARED --out FOLDER reading

SHARED/data has the research data (CONTRIBUTING.md says how to get them).

commands  the five commands of docs/tutorials/table.md on a CSV file of MQ2008: check, init, cv --refit, eval, convert
start     the configurations that `init` writes for five kinds of data, as they are, beside tuned LightGBM (leaves of 7, 15 and 31, chosen
          on validation queries, at most 1,500 trees of rate 0.05, early stopping), on the same five folds; one seed
broken    `check` on a CSV file with eight faults
reading   seconds and memory of reading, `check` and `init` on generated documents of 136 features, as text, CSV and Arrow files, with rows
          of a query together and apart. Reading is `eval --scores`, which does little else. Needs pyarrow and 4 GB of disk for a million
          documents; the files are removed. Runs take turns, and medians count

Values are means over test queries, with standard errors over queries; differences are paired.
"""

import argparse
import csv
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

import numpy

import neural_quality
from neural_quality import MEASURES, in_words, mean

FOLDS = [1, 2, 3, 4, 5]
COLUMNS = ["--read", "columns.label=grade", "--read", "columns.query=topic", "--read", "columns.id=page"]


def run(binary, *arguments, folder, show=True, codes=(0,)):
    done = subprocess.run([binary, *arguments], cwd=folder, capture_output=True, text=True)
    if show:
        print(f"$ burn-rank {' '.join(arguments)}\n{done.stdout}{done.stderr}", flush=True)
    if done.returncode not in codes:
        sys.exit(f"burn-rank {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def rows(path):
    """Label, query, features and comment of each line of LETOR text."""
    with open(path) as lines:
        for line in lines:
            fields, _, comment = line.partition("#")
            label, query, *values = fields.split()
            yield label, query.removeprefix("qid:"), dict(value.split(":") for value in values), comment.split()


def write_csv(path, files, label="grade", query="topic", page="page", grade=str):
    """The documents of LETOR text as a table, and their number."""
    documents = [row for file in files for row in rows(file)]
    width = max(int(index) for _, _, values, _ in documents for index in values)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([query, page, label, *(f"f{index}" for index in range(1, width + 1))])
        for at, (value, topic, values, comment) in enumerate(documents):
            name = comment[2] if len(comment) > 2 else f"d{at}"
            table.writerow([topic, name, grade(value), *(values.get(str(index), "0") for index in range(1, width + 1))])
    return len(documents)


def commands(binary, shared, folder):
    """The five commands on a table of MQ2008, whose rows of a query stand apart in a hundred places."""
    path = os.path.join(folder, "mq2008.csv")
    write_csv(path, [os.path.join(shared, "data", "mq2008", f"S{part}.txt") for part in FOLDS])
    with open(path) as file:
        header, *lines = file.readlines()
    shuffled = random.Random(1)
    for _ in range(100):
        one, other = shuffled.randrange(len(lines)), shuffled.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    with open(path, "w") as file:
        file.writelines([header, *lines])
    run(binary, "check", "mq2008.csv", *COLUMNS, folder=folder)
    run(binary, "init", "mq2008.csv", *COLUMNS, "--out", "first.toml", folder=folder)
    run(binary, "cv", "first.toml", "--out", "folds", "--refit", "final", folder=folder)
    run(binary, "eval", "final", "mq2008.csv", folder=folder)
    run(binary, "convert", "final", "final.onnx", folder=folder)


def parts_of(folder, files):
    """Five parts of the queries of some files, as text."""
    queries = {}
    for path in files:
        with open(path) as lines:
            for line in lines:
                queries.setdefault(line.split()[1], []).append(line)
    os.makedirs(folder, exist_ok=True)
    for part in FOLDS:
        with open(os.path.join(folder, f"S{part}.txt"), "w") as file:
            file.writelines(line for lines in list(queries.values())[part - 1 :: 5] for line in lines)
    return folder


def with_queries(path, out):
    """LightGBM's example with the queries of its `.query` file on the lines."""
    with open(f"{path}.query") as sizes, open(path) as lines, open(out, "w") as file:
        for query, size in enumerate(sizes):
            for _ in range(int(size)):
                label, *values = next(lines).split()
                file.write(f"{label} qid:{os.path.basename(path)}{query} {' '.join(values)}\n")
    return out


def five_kinds(binary, shared, folder):
    """Name, data for `init`, and text for LightGBM."""
    data = os.path.join(shared, "data")
    yield "MQ2008, grades 0 to 2", *[os.path.join(data, "mq2008")] * 2
    yield "OHSUMED, grades 0 to 2", *[os.path.join(data, "letor3-ohsumed")] * 2
    made = os.path.join(folder, "gen.txt")
    run(binary, "synth", "--queries", "600", "--features", "40", "--seed", "5", "--out", made, folder=folder, show=False)
    yield "generated, grades 0 to 4", *[parts_of(os.path.join(folder, "gen"), [made])] * 2
    example = os.path.join(data, "lightgbm-lambdarank")
    files = [with_queries(os.path.join(example, f"rank.{part}"), os.path.join(folder, f"{part}.txt")) for part in ("train", "test")]
    yield "LightGBM's example, 300 features", *[parts_of(os.path.join(folder, "example"), files)] * 2
    # Whoever saw a good document clicked on it: one of two levels, in CSV.
    made = os.path.join(folder, "shown.txt")
    run(binary, "synth", "--queries", "600", "--features", "30", "--seed", "9", "--out", made, folder=folder, show=False)
    clicked = os.path.join(folder, "clicked.txt")
    chance = random.Random(2)
    with open(made) as lines, open(clicked, "w") as file:
        for line in lines:
            grade, rest = line.split(" ", 1)
            file.write(f"{int(chance.random() < (2 ** int(grade) - 1) / 15)} {rest}")
    text = parts_of(os.path.join(folder, "clicks_text"), [clicked])
    tables = os.path.join(folder, "clicks")
    os.makedirs(tables, exist_ok=True)
    for part in FOLDS:
        write_csv(os.path.join(tables, f"S{part}.csv"), [os.path.join(text, f"S{part}.txt")], label="label", query="query", page="document")
    yield "clicks in CSV, two levels", tables, text


def start(binary, shared, folder, threads, kinds):
    for at, (name, data, text) in enumerate(five_kinds(binary, shared, folder)):
        if at + 1 not in kinds:
            continue
        config, out = os.path.join(folder, f"init{at}.toml"), os.path.join(folder, f"init{at}")
        seen = json.loads(run(binary, "init", data, "--out", config, "--json", folder=folder, show=False))
        # Values by query in both measures, whatever `init` reports.
        sets = ["--set", f"measure.report={json.dumps(MEASURES)}", "--set", "measure.convention=\"standard\""]
        run(binary, "cv", config, "--out", out, "--jobs", str(threads), *sets, folder=folder, show=False)
        with open(os.path.join(out, "report.json")) as file:
            report = json.load(file)
        chosen = [fold["selected"].split("kind")[-1].strip(' =":{')[:13] for fold in report["folds"]]
        theirs, trees = neural_quality.trees(binary, text, FOLDS, [1], threads, os.path.join(folder, f"lightgbm{at}"))
        print(f"{name}: init begins with {seen['choice']}; cv selected {chosen}; LightGBM {trees}")
        for measure in MEASURES:
            ours = [value for fold in report["details"] for value in fold["per_query"]["values"][measure]]
            ours, peers = (numpy.array([math.nan if value is None else value for value in values]) for values in (ours, theirs[measure]))
            print(
                f"  {measure:8} init {mean(ours)[0]:.4f} ± {mean(ours)[1]:.4f}, LightGBM {mean(peers)[0]:.4f} ± {mean(peers)[1]:.4f}, "
                f"difference {in_words(*mean(ours - peers))}",
                flush=True,
            )


BROKEN = """query,document,label,bm25,copy,huge,same,age
a,u1,2,3.5,2,1,7,1
a,u2,0,1.5,0,5e9,7,
a,u2,0,1.5,0,5e9,7,
b,u3,1,2.0,1,2,7,3
b,u4,1,1.0,1,3,7,4
c,u5,0,0.5,0,1,7,5
c,u6,40,9.5,40,1,7,
d,u7,0.5,2.5,0.5,1,7,2
d,u8,0,1.0,0,4,7,1
"""


def broken(binary, _, folder):
    """A column that is the label, a label that no gain fits, two equal documents, a constant and a huge feature, a query with one label,
    missing values, a label that is no grade."""
    chance = random.Random(3)
    grades = [(query, place, chance.randrange(3)) for query in range(20) for place in range(5)]
    more = [f"q{query},v{place},{grade},{chance.random():.4f},{grade},{place},7,{chance.randrange(9)}\n" for query, place, grade in grades]
    with open(os.path.join(folder, "broken.csv"), "w") as file:
        file.writelines([BROKEN, *more])
    with open(os.path.join(folder, "again.csv"), "w") as file:
        file.writelines(BROKEN.splitlines(keepends=True)[:3])
    run(binary, "check", "broken.csv", "again.csv", folder=folder)
    run(binary, "check", "broken.csv", "again.csv", "--strict", "--json", folder=folder, codes=(1,))


def cost(command, folder):
    """Seconds of the clock, seconds of the processor, and the peak MiB of a command, looked at a hundred times per second."""
    start, peak, ended = time.monotonic(), 0, 0
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not ended:
        with open(f"/proc/{process.pid}/status") as file:
            peak = max([peak, *(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))])
        time.sleep(0.01)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, peak


def tables_of(binary, folder, documents):
    """The same documents as text, CSV and Arrow files, and the number of documents and of queries."""
    import pyarrow
    import pyarrow.feather

    queries = documents // 122
    run(binary, "synth", "--queries", str(queries), "--seed", "1", "--out", "together.txt", folder=folder, show=False)
    with open(os.path.join(folder, "together.txt"), "rb") as lines, open(os.path.join(folder, "together.csv"), "wb") as file:
        file.write(f"label,query,{','.join(f'f{index}' for index in range(1, 137))}\n".encode())
        # `0 qid:1 1:0.5 2:3` is the row `0,1,0.5,3`.
        file.writelines(re.sub(rb" (?:qid|\d+):", b",", line) for line in lines)
    run(binary, "convert", "together.txt", "together.arrow", folder=folder, show=False)
    table = pyarrow.feather.read_table(os.path.join(folder, "together.arrow"))
    features = table["features"].combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
    order = numpy.random.default_rng(1).permutation(table.num_rows)
    names = [f"f{index}" for index in range(1, features.shape[1] + 1)]

    def write(name, rows):
        columns = {key: table[key].take(pyarrow.array(rows)) for key in ("label", "query")}
        columns |= {key: features[rows, at] for at, key in enumerate(names)}
        pyarrow.feather.write_feather(pyarrow.table(columns), os.path.join(folder, name), compression="uncompressed")

    write("columns.arrow", numpy.arange(table.num_rows))
    write("apart.arrow", order)
    return table.num_rows, queries


def reading(binary, folder, documents, rounds=5):
    try:
        documents, queries = tables_of(binary, folder, documents)
        with open(os.path.join(folder, "scores.txt"), "w") as file:
            file.writelines(["0.5\n"] * documents)
        features = documents * 136 * 4 / 2**20
        print(f"{documents} documents of 136 features, {features:.0f} MiB, in {queries} queries; medians of {rounds} runs\n")
        forms = {"text": "together.txt", "CSV": "together.csv", "Arrow, a column per feature": "columns.arrow",
                 "the same, rows in random order": "apart.arrow"}
        commands = {
            "read": lambda file: [binary, "eval", "--scores", "scores.txt", file],
            "check": lambda file: [binary, "check", file],
            "init": lambda file: [binary, "init", file, "--out", "-"],
        }
        found = {}
        for _ in range(rounds):
            for form, file in forms.items():
                for command, line in commands.items():
                    found.setdefault((form, command), []).append(cost(line(file), folder))
        middle = {key: [statistics.median(values) for values in zip(*runs)] for key, runs in found.items()}
        print("| file | MB | read, seconds | of the processor | peak MiB | of the features | check, seconds | of the processor | times reading "
              "| init, seconds | of the processor | times reading |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        for form, file in forms.items():
            wall, processor, peak = middle[form, "read"]
            cells = [form, f"{os.path.getsize(os.path.join(folder, file)) / 1e6:.0f}", f"{wall:.2f}", f"{processor:.2f}",
                     f"{peak:.0f}", f"{peak / features:.2f}"]
            for command in ("check", "init"):
                seconds, of_processor, _ = middle[form, command]
                cells += [f"{seconds:.2f}", f"{of_processor:.2f}", f"{of_processor / processor:.2f}"]
            print(f"| {' | '.join(cells)} |")
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("shared")
    parser.add_argument("parts", nargs="*", help="commands, start, broken, reading; the first three if left out")
    parser.add_argument("--out", required=True, help="a folder for data, configurations and runs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--kinds", type=lambda text: [int(kind) for kind in text.split(",")], default=FOLDS, help="of `start`, from 1 to 5")
    parser.add_argument("--documents", type=int, default=1_000_000, help="of `reading`")
    arguments = parser.parse_intermixed_args()
    binary, shared, folder = (os.path.abspath(path) for path in (arguments.binary, arguments.shared, arguments.out))
    os.makedirs(folder, exist_ok=True)
    for part in arguments.parts or ["commands", "start", "broken"]:
        own = os.path.join(folder, part)
        os.makedirs(own, exist_ok=True)
        if part == "start":
            start(binary, shared, own, arguments.threads, arguments.kinds)
        elif part == "reading":
            reading(binary, own, arguments.documents)
        else:
            {"commands": commands, "broken": broken}[part](binary, shared, own)


if __name__ == "__main__":
    main()
