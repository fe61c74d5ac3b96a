#!/usr/bin/env python3
"""Times losses, forward and backward, on one list of 32 to 1,000,000 documents, beside PyTorch as far as its memory goes.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy torch
    /tmp/peers/bin/python benches/python/long_lists.py target/release/burn-rank [--losses A,B] [--documents N,M] [--rounds N]
        [--threads N] [--gib N] [--no-compile] [--plot FILE.svg]

The PyTorch losses are those of losses.py, which says how they are compared with ours. Rounds alternate: `burn-rank bench`, then PyTorch,
eager and compiled. A round's figure is the median of a few runs, the table's the median of the rounds. PyTorch holds arrays of pairs: before
each longer list its memory is foretold from that of the last one, and it is left out from where it would take more than `--gib`. The
growth is the slope of a straight line through the logarithms of ours between 10,000 and 1,000,000 documents.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

import torch

from losses import LARGEST_DIFFERENCE, LOSSES, largest_difference, lists, milliseconds

RUNS = 3
# Its recursion over ranks takes minutes to compile.
RECURSION = "soft_ndcg"
FITTED = (10_000, 1_000_000)


def memory(field):
    """A field of the process's status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    return 0


class Peer:
    """A PyTorch loss, on lists as long as its memory allows."""

    def __init__(self, loss, gib):
        self.loss = loss
        self.limit = gib * 2**30
        self.last = None

    def step(self, documents):
        """A step on one list, run once; none if it would take too much memory."""
        if self.last is not None and self.last[1] * (documents / self.last[0]) ** 2 > self.limit:
            return None
        scores, labels = lists(1, documents, 0)

        def step():
            scores.grad = None
            self.loss(scores, labels).backward()

        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS:")
        step()
        # Short lists show the fixed cost alone, which the square would make into too much.
        taken = memory("VmHWM:") - before
        self.last = (documents, max(taken, 0) if documents >= 1000 else 0)
        return step


def ours(arguments, name, documents):
    command = [arguments.binary, "bench", "--json", "--paths", "fused", "--repeats", str(RUNS)]
    command += ["--losses", name, "--shapes", f"1x{documents}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    row = json.loads(found.stdout)
    return row["ms"], row.get("peak_bytes_per_document")


def measure(arguments):
    """Milliseconds of each round by (path, loss, documents), and our bytes for each document by (loss, documents)."""
    times, held = {}, {}
    for name in arguments.losses:
        for number in range(arguments.rounds):
            peers = {"eager": Peer(LOSSES[name], arguments.gib)}
            if arguments.compile and name != RECURSION:
                peers["compiled"] = Peer(torch.compile(LOSSES[name], dynamic=False), arguments.gib)
            for documents in arguments.documents:
                own, taken = ours(arguments, name, documents)
                times.setdefault(("ours", name, documents), []).append(own)
                held.setdefault((name, documents), taken)
                for path, peer in list(peers.items()):
                    step = peer.step(documents)
                    if step is None:
                        # Longer lists need more.
                        del peers[path]
                        continue
                    times.setdefault((path, name, documents), []).append(milliseconds(step, RUNS))
            print(f"{name}, round {number + 1} of {arguments.rounds}", file=sys.stderr)
    return times, held


def slope(points):
    """Of the straight line through logarithms; none for fewer than three points."""
    points = [(math.log(n), math.log(ms)) for n, ms in points if FITTED[0] <= n <= FITTED[1]]
    if len(points) < 3:
        return None
    x, y = statistics.fmean(x for x, _ in points), statistics.fmean(y for _, y in points)
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


COLORS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7b4fa3", "#9a7b00"]
DASHES = {"ours": "", "eager": "6 4", "compiled": "2 3"}
WORDS = {"ours": "burn-rank", "eager": "PyTorch eager", "compiled": "torch.compile"}


def plot(medians, names, file):
    """Time against the length of the list, both on logarithmic axes."""
    width, height, left, right, top, bottom = 910, 520, 90, 260, 30, 50
    lengths, values = [n for _, _, n in medians], list(medians.values())
    x_low, x_high = math.floor(math.log10(min(lengths))), math.ceil(math.log10(max(lengths)))
    y_low, y_high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    x = lambda n: left + (math.log10(n) - x_low) / (x_high - x_low) * (width - left - right)
    y = lambda ms: height - bottom - (math.log10(ms) - y_low) / (y_high - y_low) * (height - top - bottom)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    parts.append("<title>Time of forward and backward against the length of the list</title>")
    for power in range(x_low, x_high + 1):
        at = x(10**power)
        parts.append(f'<path d="M{at:.1f} {top}V{height - bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - bottom + 18}" text-anchor="middle">{10**power:,}</text>')
    for power in range(y_low, y_high + 1):
        at = y(10**power)
        label = f"{10**power:,} ms" if power >= 0 else f"{10**power:g} ms"
        parts.append(f'<path d="M{left} {at:.1f}H{width - right}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 12}" text-anchor="middle">documents of the list</text>')
    row = top + 10
    for color, name in zip(COLORS, names):
        for path, dash in DASHES.items():
            points = sorted((n, ms) for (p, loss, n), ms in medians.items() if (p, loss) == (path, name))
            if not points:
                continue
            line = " ".join(f"{x(n):.1f},{y(ms):.1f}" for n, ms in points)
            style = f'stroke="{color}" stroke-width="2" fill="none" stroke-dasharray="{dash}"'
            parts.append(f'<polyline points="{line}" {style}/>')
            parts += [f'<circle cx="{x(n):.1f}" cy="{y(ms):.1f}" r="2.5" fill="{color}"/>' for n, ms in points]
            parts.append(f'<path d="M{width - right + 14} {row - 4}h26" {style}/>')
            parts.append(f'<text x="{width - right + 46}" y="{row}">{name}, {WORDS[path]}</text>')
            row += 20
    parts.append("</svg>")
    Path(file).write_text("\n".join(parts) + "\n")


def cell(ms):
    return f"{ms / 1e3:.3g} s" if ms >= 1e3 else f"{ms:.3g} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    comma = lambda text: text.split(",")
    parser.add_argument("--losses", type=comma, default=["approx_ndcg", "smooth_ndcg", "lambda_ndcg"])
    grid = [32, 100, 316, 1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000]
    parser.add_argument("--documents", type=lambda text: [int(n) for n in text.split(",")], default=grid)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of PyTorch; RAYON_NUM_THREADS sets ours")
    parser.add_argument("--gib", type=float, default=8.0, help="memory that PyTorch may take")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--plot", help="SVG file to write")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.losses if name not in LOSSES]
    if unknown:
        parser.error(f"--losses {','.join(unknown)}: expected some of {', '.join(LOSSES)}")
    if arguments.documents != sorted(set(arguments.documents)) or arguments.documents[0] < 2:
        parser.error("--documents: expected an ascent of lengths of 2 or more")
    torch.set_num_threads(arguments.threads)
    torch._dynamo.config.cache_size_limit = 64

    for name in arguments.losses:
        worst = largest_difference(arguments.binary, name)
        if worst > LARGEST_DIFFERENCE:
            sys.exit(f"{name}: PyTorch's value or gradient differs by {worst:.1e}, expected at most {LARGEST_DIFFERENCE:g}")
    times, held = measure(arguments)
    medians = {key: statistics.median(values) for key, values in times.items()}

    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; medians of {arguments.rounds} rounds\n")
    print("| loss | documents | burn-rank | bytes for each document | PyTorch eager | `torch.compile` |")
    print("|---|---|---|---|---|---|")
    for name in arguments.losses:
        for documents in arguments.documents:
            own, taken = medians["ours", name, documents], held[name, documents]
            cells = [cell(own), "" if taken is None or documents < 10_000 else f"{taken:.0f}"]
            for path in ("eager", "compiled"):
                value = medians.get((path, name, documents))
                cells.append("" if value is None else f"{cell(value)} ({value / own:.3g}x)")
            print(f"| `{name}` | {documents:,} | {' | '.join(cells)} |")
    print()
    for name in arguments.losses:
        found = slope((n, ms) for (path, loss, n), ms in medians.items() if (path, loss) == ("ours", name))
        if found is not None:
            print(f"{name}: time grows with the length to the power {found:.2f} between {FITTED[0]:,} and {FITTED[1]:,} documents")
    if arguments.plot:
        plot(medians, arguments.losses, arguments.plot)


if __name__ == "__main__":
    main()
