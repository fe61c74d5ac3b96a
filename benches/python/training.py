#!/usr/bin/env python3
"""Documents a second of training epochs beside PyTorch: the same data, scorers, batches of 64 queries, ApproxNDCG and Adam.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy torch
    /tmp/peers/bin/python benches/python/training.py target/release/burn-rank [--rounds N] [--queries N] [--compile]
        [--device NAME]

Rounds alternate: `burn-rank bench train`, then PyTorch on the text that `burn-rank synth` writes of the same queries, five epochs each
after one that does not count. PyTorch's batches are of queries of about the same length, padded and made into tensors before the clock starts;
ours are put together within it. The table has the median of the rounds' median epochs.

--device times a GPU: ours by its name in `burn-rank devices`, PyTorch on CUDA, ROCm (its `cuda`) or Metal. An epoch ends when the device
is done.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time

import numpy
import torch

from losses import PYTORCH, approx_ndcg

FEATURES = 136
BATCH = 64
EPOCHS = 5
SCORERS = {"linear": [], "256,128,64": [256, 128, 64]}


def queries(binary, count):
    """Labels and features of every query of the generated text."""
    command = [binary, "synth", "--queries", str(count), "--features", str(FEATURES)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    fields = [line.split("#")[0].split() for line in lines]
    for _, documents in itertools.groupby(fields, key=lambda field: field[1]):
        documents = list(documents)
        labels = numpy.array([float(field[0]) for field in documents], dtype=numpy.float32)
        features = numpy.zeros((len(documents), FEATURES), dtype=numpy.float32)
        for row, field in zip(features, documents):
            for entry in field[2:]:
                index, value = entry.split(":")
                row[int(index) - 1] = float(value)
        yield labels, features


def batches(data):
    """Padded tensors `[batch, documents, features]` and `[batch, documents]`."""
    data = sorted(data, key=lambda query: len(query[0]))
    for start in range(0, len(data), BATCH):
        part = data[start : start + BATCH]
        longest = max(len(labels) for labels, _ in part)
        features = torch.zeros(len(part), longest, FEATURES, device="cpu")
        labels = torch.zeros(len(part), longest, device="cpu")
        for number, (own_labels, own_features) in enumerate(part):
            features[number, : len(own_labels)] = torch.from_numpy(own_features)
            labels[number, : len(own_labels)] = torch.from_numpy(own_labels)
        # Without a relevant document the ideal DCG would be 0; the time is the same.
        labels[:, 0].clamp_(min=1.0)
        default = torch.get_default_device()
        yield features.to(default), labels.to(default)


def trainer(hidden, data, compiled):
    """A function that trains for an epoch."""
    torch.manual_seed(1)
    widths = [FEATURES, *hidden, 1]
    layers = [layer for sizes in itertools.pairwise(widths) for layer in (torch.nn.Linear(*sizes), torch.nn.ReLU())]
    scorer = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(scorer.parameters(), 1e-3)

    def step(features, labels):
        loss = approx_ndcg(scorer(features).squeeze(-1), labels)
        loss.backward()

    if compiled:
        step = torch.compile(step, dynamic=True)

    def epoch():
        for number in torch.randperm(len(data), device="cpu").tolist():
            optimizer.zero_grad()
            step(*data[number])
            optimizer.step()
        # On a GPU the epoch has only been asked for until somebody reads what it made.
        next(scorer.parameters()).sum().item()

    return epoch


def rate(epoch, documents):
    epoch()
    times = []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        epoch()
        times.append(time.perf_counter() - start)
    return documents / statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="flex", help="of `burn-rank devices`; PyTorch takes the same hardware")
    arguments = parser.parse_args()

    torch.set_default_device(PYTORCH.get(arguments.device.split(":")[0], "cuda"))
    data = list(queries(arguments.binary, arguments.queries))
    documents = sum(len(labels) for labels, _ in data)
    data = list(batches(data))
    rates = {}
    for number in range(arguments.rounds):
        command = [arguments.binary, "bench", "train", "--json", "--queries", str(arguments.queries)]
        command += ["--batch", str(BATCH), "--repeats", str(EPOCHS), "--devices", arguments.device, "--paths", "fused"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        for row in map(json.loads, found.stdout.splitlines()):
            if row["documents"] != documents:
                sys.exit(f"burn-rank trained on {row['documents']} documents, PyTorch on {documents}")
            rates.setdefault(("burn-rank", row["scorer"]), []).append(row["documents_per_s"])
        for name, hidden in SCORERS.items():
            rates.setdefault(("eager", name), []).append(rate(trainer(hidden, data, False), documents))
            if arguments.compile:
                rates.setdefault(("compiled", name), []).append(rate(trainer(hidden, data, True), documents))
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    medians = {key: statistics.median(values) for key, values in rates.items()}

    print(f"{arguments.device}; PyTorch {torch.__version__}, {torch.get_num_threads()} threads; {documents:,} documents an epoch, documents a second\n")
    paths = ["burn-rank", "eager", *(["compiled"] if arguments.compile else [])]
    print(f"| scorer | {' | '.join(paths)} |")
    print("|---" * (1 + len(paths)) + "|")
    for name in SCORERS:
        print(f"| {name} | {' | '.join(f'{medians[path, name]:,.0f}' for path in paths)} |")


if __name__ == "__main__":
    main()
