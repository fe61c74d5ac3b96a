#!/usr/bin/env python3
"""The drawn pictures of docs/pictures, from the tables of benchmarks/: `python3 book/pictures.py` writes them, `--check`
fails where a picture is not what the tables say.
"""

import itertools
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INK, FAINT, BLUE, RED, GREEN, GRAY = "#1c1e26", "#c9ccd3", "#1f6bab", "#b3400c", "#0b7a5c", "#6b7280"
FONT = 'font-family="system-ui, sans-serif"'


def page(name):
    with open(os.path.join(ROOT, "benchmarks", name), encoding="utf-8") as file:
        return file.read()


def table(text, header):
    """The rows of the first table whose header begins with these cells."""
    cells = lambda line: [cell.strip() for cell in line.strip("|").split("|")]
    lines = iter(text.split("\n"))
    head = next(row for row in map(cells, lines) if row[: len(header)] == header)
    next(lines)
    return head, [cells(line) for line in itertools.takewhile(lambda line: line.startswith("|"), lines)]


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [f"<title>{title}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>']

    def text(self, x, y, words, anchor="start", size=13, color=INK, weight="normal"):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}" '
            f'font-weight="{weight}">{words}</text>'
        )

    def line(self, x1, y1, x2, y2, color=FAINT, width=1.0, more=""):
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"{more}/>'
        )

    def dot(self, x, y, color):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>')

    def box(self, x, y, width, height, fill, more=""):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{more}/>')

    def path(self, points, color, width=2.0):
        steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{steps}" fill="none" stroke="{color}" stroke-width="{width}"/>')

    def svg(self):
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>\n' + "\n".join(self.parts) + "\n</svg>\n"


def forest(title, rows, low, high, step, unit):
    """A dot with its interval in each row; rows are (label, value, from, to, color), or a heading alone."""
    left, right, top, pitch = 230, 40, 58, 26
    width, height = 760, top + pitch * len(rows) + 52
    drawing = Drawing(width, height, title)
    drawing.text(16, 26, title, size=15, weight="bold")
    at = lambda value: left + (width - left - right) * (value - low) / (high - low)
    for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        value = i * step
        zero = i == 0
        drawing.line(at(value), top - 14, at(value), height - 42, GRAY if zero else FAINT, 1.5 if zero else 1.0)
        drawing.text(at(value), height - 24, f"{value:+.2f}" if not zero else "0", "middle", 12, GRAY)
    drawing.text(width - right, height - 7, unit, "end", 12, GRAY)
    for i, row in enumerate(rows):
        y = top + pitch * i
        if len(row) == 1:
            drawing.text(16, y + 4, row[0], size=13, weight="bold")
            continue
        label, value, lower, upper, color = row
        drawing.text(left - 14, y + 4, label, "end")
        drawing.line(at(max(lower, low)), y, at(min(upper, high)), y, color, 2.5)
        drawing.dot(at(value), y, color)
    return drawing.svg()


def difference(cell):
    value, error = (float(number) for number in cell.split("±"))
    return value, value - error, value + error


def losses(column, title, color, unit):
    head, rows = table(page("losses.md"), ["set", "`lambda_ndcg` - LightGBM"])
    column = head.index(column)
    return forest(title, [(row[0], *difference(row[column]), color) for row in rows], -0.02, 0.04, 0.01, unit)


def networks():
    return losses(
        "`lambda_ndcg` - LightGBM",
        "A perceptron on lambda_ndcg minus LightGBM with tuned leaves, NDCG@10",
        BLUE,
        "above 0: the perceptron is better; bars: one standard error",
    )


def direct():
    found = []
    for measure, loss in [("NDCG@10", "approx_ndcg"), ("MAP", "soft_ap")]:
        head, rows = table(page("losses.md").split(f"n {measure}:\n")[1], ["set", "`lambda_ndcg` - `list_net`"])
        for name in ["list_net", "lambda_ndcg"]:
            column = head.index(f"`{loss}` - `{name}`")
            found.append([f"{loss} minus {name}, {measure}"])
            found += [(row[0], *difference(row[column]), RED) for row in rows]
    title = "Direct optimization with unit gradients, perceptron"
    return forest(title, found, -0.02, 0.02, 0.01, "above 0: direct optimization is better; bars: one standard error")


# Losses of the picture by their names in the tables, where cells have the name of their parts.
CHOSEN = {
    "lambda_ndcg": "lambda_ndcg",
    "lambda_loss": "lambda_loss",
    "softmax_cross_entropy": "softmax_cross_entropy",
    "xe_ndcg": "xe_ndcg",
    "rank_net": "rank_net",
    "ndcg:approximate_positions": "approx_ndcg",
    "ndcg:expected_ranks": "soft_ndcg",
    "ndcg:rank_indicators": "smooth_ndcg",
    "ap:approximate_positions": "approx_ap",
}


def choice():
    network, linear = page("losses.md").split("A network:\n")[1].split("A linear ranker:\n")
    drawn = []
    for what, text in [("a network", network), ("a linear ranker", linear)]:
        head, rows = table(text, ["loss", "gen"])
        cells = {row[0].strip("`"): row[head.index("pooled, NDCG@10")] for row in rows}
        found = {loss: difference(cells[name]) for name, loss in CHOSEN.items()}
        drawn.append([what])
        for loss, figures in sorted(found.items(), key=lambda item: -item[1][0]):
            drawn.append((loss, *figures, RED if loss.startswith(("approx_", "soft_", "smooth_")) else BLUE))
    title = "Losses minus ListNet, NDCG@10 (red: direct, blue: bounds)"
    return forest(title, drawn, -0.01, 0.01, 0.01, "above 0: better than ListNet; bars: one standard error")


def trees():
    head, rows = table(page("trees.md").split("### All sets")[1], ["", "", "", "LightGBM"])
    found = []
    for measure in ["ndcg@10", "map"]:
        for method, color in [("LambdaMART", BLUE), ("direct AP", RED)]:
            row = next(row for row in rows if row[0] == "tuned" and row[1].startswith(measure) and row[2] == method)
            found.append([f"{method}, {measure.upper()}"])
            for peer in head[3:]:
                value, lower, upper = re.match(r"(\S+) \((\S+) to (\S+)\)", row[head.index(peer)]).groups()
                found.append((f"minus {peer}", float(value), float(lower), float(upper), color))
    title = "Tuned trees, mean difference over five sets"
    return forest(title, found, -0.03, 0.02, 0.01, "above 0: ours are better; bars: 95 % intervals")


def speed():
    text = page("performance.md")
    _, rows = table(text, ["loss", "lists"])
    times = lambda cell: float(re.search(r"\(([\d.,]+)x", cell)[1].replace(",", ""))
    loss = next(row for row in rows if row[0] == "`approx_ndcg`")
    _, rows = table(text, ["scorer", "burn-rank"])
    epoch = {row[0].split()[0]: row for row in rows}
    _, rows = table(text, ["loss", "documents"])
    long = next(row for row in rows if row[0] == "`approx_ndcg`" and row[1] == "10,000")
    bars = [
        ("an epoch of a perceptron", "eager", times(epoch["multi-layer"][2])),
        ("an epoch of a linear scorer", "eager", times(epoch["linear"][2])),
        ("approx_ndcg, 64 lists of 128", "compiled", times(loss[5])),
        ("approx_ndcg, 64 lists of 128", "eager", times(loss[4])),
        ("approx_ndcg, one list of 10,000", "compiled", times(long[5])),
    ]
    width, left, top, pitch = 760, 320, 58, 34
    height = top + pitch * len(bars) + 30
    drawing = Drawing(width, height, "Time of PyTorch over ours")
    drawing.text(16, 26, "Time of PyTorch over ours, two CPU cores (logarithmic)", size=15, weight="bold")
    at = lambda value: left + (width - left - 90) * math.log10(value) / math.log10(200)
    for value in [1, 10, 100]:
        drawing.line(at(value), top - 16, at(value), height - 30, GRAY if value == 1 else FAINT)
        drawing.text(at(value), height - 12, f"{value}x", "middle", 12, GRAY)
    for i, (what, peer, value) in enumerate(bars):
        y = top + pitch * i
        drawing.text(left - 14, y + 4, f"{what}, {peer}", "end")
        drawing.box(left, y - 9, at(value) - left, 18, BLUE if peer == "eager" else GREEN)
        drawing.text(at(value) + 8, y + 4, f"{value:g}x", weight="bold")
    return drawing.svg()


def curves():
    head, rows = table(page("losses.md"), ["loss", "epoch 1"])
    epochs = [int(cell.removeprefix("epoch ")) for cell in head[1:]]
    values = [[float(cell) for cell in row[1:]] for row in rows]
    low = math.floor(min(map(min, values)) * 100) / 100
    high = math.ceil(max(map(max, values)) * 100) / 100
    width, height, left, right, top, bottom = 760, 360, 62, 235, 50, 58
    drawing = Drawing(width, height, "Learning curves")
    drawing.text(16, 26, "Learning curves on MQ2008: validation NDCG@10 of a perceptron", size=15, weight="bold")
    at_x = lambda epoch: left + (width - left - right) * epoch / epochs[-1]
    at_y = lambda value: height - bottom - (height - top - bottom) * (value - low) / (high - low)
    for i in range(round((high - low) * 100) + 1):
        value = low + i / 100
        drawing.line(left, at_y(value), width - right, at_y(value))
        drawing.text(left - 10, at_y(value) + 4, f"{value:.2f}", "end", 12, GRAY)
    for epoch in range(0, epochs[-1] + 1, 10):
        drawing.text(at_x(epoch), height - 36, f"{epoch}", "middle", 12, GRAY)
    drawing.text((left + width - right) / 2, height - 12, "epoch; mean over five folds and three seeds", "middle", 12, GRAY)
    for i, (row, line, color) in enumerate(zip(rows, values, [BLUE, GREEN, RED, GRAY], strict=True)):
        drawing.path([(at_x(epoch), at_y(value)) for epoch, value in zip(epochs, line, strict=True)], color)
        drawing.line(width - right + 14, 80 + 26 * i, width - right + 36, 80 + 26 * i, color, 3)
        drawing.text(width - right + 44, 84 + 26 * i, row[0].replace("`", ""), size=12)
    return drawing.svg()


def relaxation():
    width, height, left, top, bottom = 760, 330, 70, 50, 58
    drawing = Drawing(width, height, "A rank as a step, and smoothed")
    drawing.text(16, 26, "The rank of a document, as its score passes two others (at -1 and 1)", size=15, weight="bold")
    at_x = lambda x: left + (width - left - 180) * (x + 3) / 6
    at_y = lambda y: top + (height - top - bottom) * (y - 0.8) / 2.4
    for rank in [1, 2, 3]:
        drawing.line(left, at_y(rank), width - 180, at_y(rank))
        drawing.text(left - 12, at_y(rank) + 4, f"rank {rank}", "end", 12, GRAY)
    for score in range(-3, 4):
        drawing.text(at_x(score), height - 34, f"{score}", "middle", 12, GRAY)
    drawing.text(at_x(0), height - 12, "score of the document", "middle", 12, GRAY)
    grid = [i / 50 for i in range(-150, 151)]
    for alpha, color in [(2, GREEN), (6, BLUE), (20, RED)]:
        rank = lambda x: 1 + sum(1 / (1 + math.exp(alpha * (x - other))) for other in (-1, 1))
        drawing.path([(at_x(x), at_y(rank(x))) for x in grid], color)
    drawing.path([(at_x(x), at_y(r)) for x, r in [(-3, 3), (-1, 3), (-1, 2), (1, 2), (1, 1), (3, 1)]], INK, 1.5)
    legend = [("exact: gradient 0", INK), ("alpha = 20", RED), ("alpha = 6", BLUE), ("alpha = 2: smooth", GREEN)]
    for i, (words, color) in enumerate(legend):
        drawing.line(width - 165, 80 + 26 * i, width - 140, 80 + 26 * i, color, 3)
        drawing.text(width - 132, 84 + 26 * i, words, size=12)
    return drawing.svg()


def folds():
    width, left, top, cell, pitch = 760, 110, 66, 92, 34
    height = top + pitch * 5 + 48
    drawing = Drawing(width, height, "Five parts, rotated to five folds")
    drawing.text(16, 26, "Five parts, rotated to five folds", size=15, weight="bold")
    for part in range(5):
        drawing.text(left + cell * part + cell / 2, top - 14, f"S{part + 1}", "middle", 13, GRAY)
    for fold in range(5):
        drawing.text(left - 14, top + pitch * fold + 18, f"fold {fold + 1}", "end")
        for part in range(5):
            place = (part - fold) % 5
            color = BLUE if place < 3 else RED if place == 3 else GREEN
            drawing.box(left + cell * part + 2, top + pitch * fold, cell - 4, pitch - 6, color, ' rx="3"')
    for i, (words, color) in enumerate([("train", BLUE), ("validation", RED), ("test", GREEN)]):
        x = left + 150 * i
        drawing.box(x, height - 34, 16, 16, color, ' rx="3"')
        drawing.text(x + 24, height - 21, words)
    return drawing.svg()


def architecture():
    width, height = 760, 330
    drawing = Drawing(width, height, "How data become a ranker")
    drawing.parts.append(
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{GRAY}"/></marker></defs>'
    )
    drawing.text(16, 26, "How data become a ranker", size=15, weight="bold")

    def stage(x, y, words, about, color=BLUE, wide=118):
        drawing.box(x, y, wide, 58, "#fff", f' rx="6" stroke="{color}" stroke-width="2"')
        drawing.text(x + wide / 2, y + 25, words, "middle", 14, INK, "bold")
        drawing.text(x + wide / 2, y + 44, about, "middle", 11, GRAY)

    def arrow(x1, y1, x2, y2):
        drawing.line(x1, y1, x2, y2, GRAY, 1.5, ' marker-end="url(#head)"')

    stages = [("data", "lists of features"), ("normalizer", "fitted on train"), ("scorer", "a score each"), ("ranker", "one file")]
    for i, (words, about) in enumerate(stages):
        stage(24 + 190 * i, 60, words, about)
        if i < 3:
            arrow(142 + 190 * i, 89, 210 + 190 * i, 89)
    stage(404, 166, "loss", "one number a list", RED)
    stage(214, 166, "learner", "gradient, trees, ..", RED)
    stage(594, 166, "measure", "exact, selects", GREEN)
    arrow(463, 120, 463, 162)
    arrow(402, 195, 336, 195)
    arrow(302, 164, 420, 122)
    arrow(653, 164, 653, 122)
    drawing.text(24, 268, "predict, eval, compare and convert read the ranker.", size=13)
    drawing.text(24, 290, "The command and Python drive all of it from one configuration.", size=13)
    drawing.text(24, 312, "Your own burn model takes the loss and the measure only.", size=13)
    return drawing.svg()


PICTURES = [choice, networks, direct, curves, trees, speed, relaxation, folds, architecture]


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(f"found {' '.join(sys.argv[1:])}, expected nothing or --check")
    stale = []
    for picture in PICTURES:
        path = os.path.join(ROOT, "docs", "pictures", picture.__name__ + ".svg")
        drawn = picture()
        if check:
            with open(path, encoding="utf-8") as file:
                stale += [path] if file.read() != drawn else []
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(drawn)
    if stale:
        sys.exit(f"not what the tables say, run python3 book/pictures.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
