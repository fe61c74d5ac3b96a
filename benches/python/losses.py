#!/usr/bin/env python3
"""Times losses, forward and backward, beside PyTorch on the same lists, machine and minutes.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy torch
    /tmp/peers/bin/python benches/python/losses.py target/release/burn-rank [--losses A,B] [--shapes 64x128,4x1024]
        [--rounds N] [--threads N] [--no-compile] [--json] [--device NAME]

The PyTorch losses are what a careful user writes with tensor operations, without the padding, empty queries and ties in labels that ours
also handle. First each is compared with `burn-rank loss` on small lists, value and gradient: a difference above 1e-4 ends the program
with 1, for times of two different functions say nothing. Then rounds alternate: `burn-rank bench`, both paths, then PyTorch, eager
and compiled. A round's figure is the median of seven (bursts of) runs, the table's the median of the rounds. SoftNDCG has PyTorch's
recursion over ranks in lists of up to 256 documents, one run a round: beyond, and compiled, it takes minutes.

--device times a GPU: ours by its name in `burn-rank devices`, PyTorch on CUDA, ROCm (its `cuda`) or Metal. Every run ends when its
gradient is there.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time

import numpy
import torch
from torch.nn.functional import log_softmax, pad, softmax, softplus

RUNS = 7
LARGEST_DIFFERENCE = 1e-4
LONGEST_RECURSION = 256
# PyTorch's names for our devices; a GPU by Vulkan is timed beside CUDA.
PYTORCH = {"flex": "cpu", "metal": "mps"}


def discounts(scores):
    return 1.0 / torch.log2(torch.arange(scores.shape[1], dtype=torch.float32, device=scores.device) + 2.0)


def gains(labels):
    """2^y - 1 over the ideal DCG of each list."""
    gain = torch.exp2(labels) - 1.0
    ideal = (gain.sort(dim=1, descending=True).values * discounts(labels)).sum(1, keepdim=True)
    return gain / ideal


def ranks(scores):
    """Ranks from 0, equal scores by position."""
    return scores.argsort(dim=1, descending=True, stable=True).argsort(dim=1)


def differences(scores):
    """`[batch, i, j]`: s_j - s_i."""
    return scores[:, None, :] - scores[:, :, None]


def approx_ndcg(scores, labels, alpha=10.0):
    positions = torch.sigmoid(alpha * differences(scores)).sum(2) + 0.5
    return 1.0 - (gains(labels) / torch.log2(1.0 + positions)).sum(1).mean()


def smooth_ndcg(scores, labels, sigma=1.0):
    ranked = scores.sort(dim=1, descending=True, stable=True).values
    indicators = softmax(-((scores[:, :, None] - ranked[:, None, :]) ** 2) / sigma, 1)
    return 1.0 - torch.einsum("bi,bij,j->b", gains(labels), indicators, discounts(scores)).mean()


def lambda_ndcg(scores, labels, sigma=1.0):
    with torch.no_grad():
        gain, discount = gains(labels), discounts(scores)[ranks(scores)]
        weights = differences(gain).abs() * differences(discount).abs()
        weights = weights * (labels[:, :, None] > labels[:, None, :])
    return (softplus(sigma * differences(scores)) * weights).sum((1, 2)).mean()


def soft_ndcg(scores, labels, sigma=1.0):
    batch, documents = scores.shape
    wins = 0.5 * (1.0 + torch.erf(differences(scores) / (2.0 * sigma)))
    wins = wins.masked_fill(torch.eye(documents, dtype=torch.bool, device=scores.device), 0.0)
    p = torch.zeros(batch, documents, documents, device=scores.device)
    p[:, :, 0] = 1.0
    for other in range(documents):
        win = wins[:, :, other, None]
        p = p * (1.0 - win) + pad(p[:, :, :-1], (1, 0)) * win
    return 1.0 - (gains(labels) * (p @ discounts(scores))).sum(1).mean()


def list_net(scores, labels):
    return -(softmax(labels, 1) * log_softmax(scores, 1)).sum(1).mean()


# Those whose temperature is in scores here, and not by default.
PAPERS = ("approx_ndcg", "smooth_ndcg", "soft_ndcg")

LOSSES = {loss.__name__: loss for loss in (approx_ndcg, smooth_ndcg, lambda_ndcg, soft_ndcg, list_net)}


def lists(batch, documents, seed):
    """Normal scores, and labels with the shares of MSLR-WEB."""
    random = numpy.random.default_rng(seed)
    scores = random.normal(size=(batch, documents)).astype(numpy.float32)
    labels = random.choice(5, p=[0.52, 0.23, 0.19, 0.04, 0.02], size=(batch, documents)).astype(numpy.float32)
    labels[:, 0] = 4.0
    return torch.tensor(scores, requires_grad=True), torch.tensor(labels)


def largest_difference(binary, name):
    """Of values and gradients, on eight lists of 2 to 40 documents."""
    worst = 0.0
    for seed, documents in enumerate((2, 3, 5, 8, 13, 20, 30, 40)):
        scores, labels = lists(1, documents, seed)
        value = LOSSES[name](scores, labels)
        value.backward()
        line = json.dumps({"scores": scores[0].tolist(), "labels": labels[0].tolist()})
        papers = ["--set", "temperature_unit=score"] if name in PAPERS else []
        found = subprocess.run([binary, "loss", name, *papers], input=line, capture_output=True, text=True, check=True)
        found = json.loads(found.stdout)
        apart = [abs(found["loss"] - value.item()), *(abs(a - b) for a, b in zip(found["grad"], scores.grad[0].tolist()))]
        # A difference that is no number is a difference.
        worst = max([worst, *(math.inf if math.isnan(x) else x for x in apart)])
    return worst


def peers(arguments):
    """The steps of PyTorch by (path, loss, shape), each run twice."""
    steps = {}
    for name in arguments.losses:
        paths = {"eager": LOSSES[name]}
        if arguments.compile and name != "soft_ndcg":
            paths["compiled"] = torch.compile(LOSSES[name])
        for shape in arguments.shapes:
            scores, labels = lists(*map(int, shape.split("x")), 0)
            if name == "soft_ndcg" and scores.shape[1] > LONGEST_RECURSION:
                continue
            for path, loss in paths.items():

                def step(loss=loss, scores=scores, labels=labels):
                    scores.grad = None
                    loss(scores, labels).backward()
                    # On a GPU the step has only been asked for until somebody reads it.
                    scores.grad.sum().item()

                step()
                step()
                steps[path, name, shape] = step
    return steps


def milliseconds(step, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def ours(arguments):
    command = [arguments.binary, "bench", "--json", "--repeats", str(RUNS), "--devices", arguments.device]
    command += ["--losses", ",".join(arguments.losses), "--shapes", ",".join(arguments.shapes)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    for row in map(json.loads, found.stdout.splitlines()):
        yield (row["peer"].rsplit("/", 1)[-1], row["loss"], f"{row['batch']}x{row['n']}"), row["ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    comma = lambda text: text.split(",")
    parser.add_argument("--losses", type=comma, default=list(LOSSES))
    parser.add_argument("--shapes", type=comma, default=["64x128", "16x256", "4x1024"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="flex", help="of `burn-rank devices`; PyTorch takes the same hardware")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of PyTorch; RAYON_NUM_THREADS sets ours")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.losses if name not in LOSSES]
    if unknown:
        parser.error(f"--losses {','.join(unknown)}: expected some of {', '.join(LOSSES)}")
    torch.set_num_threads(arguments.threads)

    for name in arguments.losses:
        worst = largest_difference(arguments.binary, name)
        if worst > LARGEST_DIFFERENCE:
            sys.exit(f"{name}: PyTorch's value or gradient differs by {worst:.1e}, expected at most {LARGEST_DIFFERENCE:g}")
        print(f"{name}: values and gradients agree to {worst:.1e}", file=sys.stderr)

    # The comparison above was on the CPU; whatever is made from here on is on the device.
    torch.set_default_device(PYTORCH.get(arguments.device.split(":")[0], "cuda"))
    steps = peers(arguments)
    times = {}
    for number in range(arguments.rounds):
        for key, value in ours(arguments):
            times.setdefault(key, []).append(value)
        for key, step in steps.items():
            runs = 1 if key[1] == "soft_ndcg" else RUNS
            times.setdefault(key, []).append(milliseconds(step, runs))
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    medians = {key: statistics.median(values) for key, values in times.items()}

    if arguments.json:
        for (path, name, shape), value in medians.items():
            print(json.dumps({"path": path, "loss": name, "shape": shape, "ms": value, "rounds": times[path, name, shape]}))
        return
    print(f"{arguments.device}; PyTorch {torch.__version__}, {torch.get_num_threads()} threads; milliseconds, and PyTorch's as a multiple of ours\n")
    print("| loss | lists | fused | tensor definition | PyTorch eager | `torch.compile` |")
    print("|---|---|---|---|---|---|")
    for name in arguments.losses:
        for shape in arguments.shapes:
            own = medians["fused", name, shape]
            cells = [f"{own:.3g}", f"{medians['tensor', name, shape]:.3g}" if ("tensor", name, shape) in medians else ""]
            for path in ("eager", "compiled"):
                value = medians.get((path, name, shape))
                cells.append("" if value is None else f"{value:.3g} ({value / own:.1f}x)")
            print(f"| `{name}` | {shape} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
