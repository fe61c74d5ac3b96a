#!/usr/bin/env python3
"""The tables of benchmarks/performance.md, "Beside rax and allRank": what burn-rank, LightGBM, rax and allRank train on and measure, and the time of ApproxNDCG.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy torch lightgbm jax rax scikit-learn torchvision gcsfs
    /tmp/peers/bin/pip install --no-deps allRank
    /tmp/peers/bin/python benches/python/peers.py target/release/burn-rank [--rounds N] [--threads N]

Losses and measures are counted in the packages: functions `*_loss` and `*_metric` of rax, modules of `allrank.models.losses` and functions
of `allrank.models.metrics`, ranking objectives and metrics of LightGBM's parameters (named here, since its library does not list them),
`burn-rank models --losses` and `--measures`. The time is that of ApproxNDCG, value and gradient in the scores, of 64 lists of 128
documents with labels from 0 to 4: `burn-rank bench`, `jax.jit(jax.value_and_grad(..))` of rax with ranks by sigmoids, allRank's function and
`backward`, both with alpha = 10 and, for allRank, no cut-off. All run on the same --threads processors (1 unless said). Rounds alternate, and the
fastest run counts, so that a busy machine distorts little; for burn-rank it is the fastest round's median. Values are compared first, since times of
two different functions say nothing.
"""

import argparse
import functools
import importlib
import inspect
import json
import os
import pkgutil
import statistics
import subprocess
import sys
import time

import numpy

BATCH, DOCUMENTS, RUNS = 64, 128, 21
# objective= and metric= of LightGBM's documentation that rank.
LIGHTGBM = (["lambdarank", "rank_xendcg"], ["ndcg", "map"])


def counted_rax():
    import rax

    named = [name for name in dir(rax) if callable(getattr(rax, name))]
    return [n for n in named if n.endswith("_loss")], [n for n in named if n.endswith("_metric")]


def counted_allrank():
    losses = importlib.import_module("allrank.models.losses")
    found = [module.name for module in pkgutil.iter_modules(losses.__path__) if module.name != "loss_utils"]
    metrics = importlib.import_module("allrank.models.metrics")
    own = [n for n, f in inspect.getmembers(metrics, inspect.isfunction) if f.__module__ == metrics.__name__]
    return found, [n for n in own if not n.startswith("_")]


def counted_ours(binary):
    def lines(what):
        return subprocess.run([binary, "models", what], check=True, capture_output=True, text=True).stdout.splitlines()

    losses = [line.split()[1].rstrip(":") for line in lines("--losses") if line.startswith("loss ")]
    table = lines("--measures")
    return losses, [line.split()[0] for line in table[1 : table.index("")]]


def rax_run(scores, labels):
    import jax
    import jax.numpy as jnp
    import rax

    # What `rax.approx_t12n(rax.ndcg_metric, temperature=0.1)` is, which newer versions of jax have no part for.
    ranks = functools.partial(rax.utils.approx_ranks, step_fn=lambda x: jax.nn.sigmoid(10.0 * x))
    gains = lambda label: 2.0**label - 1.0
    function = jax.jit(jax.value_and_grad(lambda s, y: 1.0 - rax.ndcg_metric(s, y, rank_fn=ranks, gain_fn=gains)))
    s, y = jnp.asarray(scores), jnp.asarray(labels)

    def run():
        value, gradient = function(s, y)
        gradient.block_until_ready()
        return float(value)

    return run


def allrank_run(scores, labels, threads):
    import torch
    from allrank.models.losses.approxNDCG import approxNDCGLoss

    torch.set_num_threads(threads)
    s, y = torch.tensor(scores, requires_grad=True), torch.tensor(labels)

    def run():
        s.grad = None
        value = approxNDCGLoss(s, y, alpha=10.0)
        value.backward()
        return 1.0 + value.item()

    return run


def ours_value(binary, scores, labels):
    lines = "".join(json.dumps({"scores": s.tolist(), "labels": y.tolist()}) + "\n" for s, y in zip(scores, labels))
    found = subprocess.run([binary, "loss", "approx_ndcg", "--set", "alpha=10"], input=lines, check=True, capture_output=True, text=True)
    return statistics.mean(json.loads(line)["loss"] for line in found.stdout.splitlines())


def ours_ms(binary):
    command = [binary, "bench", "--losses", "approx_ndcg", "--shapes", f"{BATCH}x{DOCUMENTS}", "--paths", "fused", "--json"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[0])["ms"]


def fastest_ms(run):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=1)
    arguments = arguments.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])

    random = numpy.random.default_rng(1)
    scores = random.standard_normal((BATCH, DOCUMENTS)).astype(numpy.float32)
    labels = random.integers(0, 5, (BATCH, DOCUMENTS)).astype(numpy.float32)
    peers = {"rax": rax_run(scores, labels), "allRank": allrank_run(scores, labels, arguments.threads)}
    value = ours_value(arguments.binary, scores, labels)
    for name, run in peers.items():
        other = run()
        print(f"ApproxNDCG: burn-rank {value:.6f}, {name} {other:.6f}", file=sys.stderr)
        if abs(other - value) > 1e-4:
            sys.exit(f"{name} computes another function")
    rounds = {"burn-rank": [], **{name: [] for name in peers}}
    for _ in range(arguments.rounds):
        rounds["burn-rank"].append(ours_ms(arguments.binary))
        for name, run in peers.items():
            rounds[name].append(fastest_ms(run))
    ms = {name: min(found) for name, found in rounds.items()}

    import lightgbm
    from importlib.metadata import version

    columns = {
        "burn-rank": counted_ours(arguments.binary),
        f"LightGBM {lightgbm.__version__}": LIGHTGBM,
        f"rax {version('rax')}": counted_rax(),
        f"allRank {version('allRank')}": counted_allrank(),
    }
    print("| | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for row, which in [("losses", 0), ("measures", 1)]:
        print(f"| {row} | " + " | ".join(str(len(found[which])) for found in columns.values()) + " |")
        for name, found in columns.items():
            print(f"{row} of {name}: {', '.join(found[which])}", file=sys.stderr)
    time_of = {"burn-rank": f"{ms['burn-rank']:.2f} ms"}
    times = [time_of.get(name) or (f"{ms[name.split()[0]]:.2f} ms" if name.split()[0] in ms else "") for name in columns]
    print(f"| ApproxNDCG of {BATCH} x {DOCUMENTS}, value and gradient | " + " | ".join(times) + " |")


if __name__ == "__main__":
    main()
