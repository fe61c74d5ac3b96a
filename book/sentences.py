#!/usr/bin/env python3
"""Sentences to be judged without their context: `python3 book/sentences.py SEED [NUMBER] [FOLDER]` prints 110 of them, from
the pages for users and from the public documentation of the sources below FOLDER (else this repository).

The same seed draws the same sentences. Code blocks, tables, headings and definitions of links are left out.
"""

import os
import random
import re
import sys

PAGES = ["README.md", "docs", "examples/README.md", "configs/README.md", "src", "cli/src", "python/burn_rank"]


def texts(root):
    for name in PAGES:
        path = os.path.join(root, name)
        found = [os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files]
        for file in sorted(found) if os.path.isdir(path) else [path] * os.path.exists(path):
            if file.endswith((".md", ".rs")) and "/tests" not in file:
                with open(file, encoding="utf-8") as opened:
                    yield file, opened.read()


def paragraphs(file, text):
    """Paragraphs and items of lists, without code."""
    lines, block = [], False
    for line in text.split("\n"):
        line = line.strip()
        if file.endswith(".rs"):
            comment = re.match(r"//[/!] ?(.*)", line)
            line = comment[1].strip() if comment else ""
        line = re.sub(r"^> ?", "", line)
        if line.startswith("```"):
            block = not block
            line = ""
        breaks = block or not line or line[0] in "|#!" or re.match(r"\[[^\]]+\]: ", line)
        if breaks or re.match(r"([*-]|\d+\.) ", line):
            yield " ".join(lines)
            lines = []
        if not breaks:
            lines.append(re.sub(r"^([*-]|\d+\.) ", "", line))
    yield " ".join(lines)


def sentences(root):
    for file, text in texts(root):
        for paragraph in paragraphs(file, text):
            for sentence in re.split(r"(?<=[.?!:)])\*{0,2}\s+(?=[A-Z`*\[])", paragraph):
                if len(sentence.split()) >= 5:
                    yield sentence


def main():
    seed, number, root = (sys.argv[1:] + ["", "110", os.path.dirname(os.path.dirname(os.path.abspath(__file__)))][len(sys.argv) - 1 :])[:3]
    if not seed or not number.isdecimal():
        sys.exit(__doc__)
    for i, sentence in enumerate(random.Random(seed).sample(sorted(set(sentences(root))), int(number)), 1):
        print(f"{i:3} {sentence}")


if __name__ == "__main__":
    main()
