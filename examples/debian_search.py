"""A search over the descriptions of Debian's packages, with BM25 as the first stage of a reranker.

    apt-get update -o Acquire::Languages=en
    python3 examples/debian_search.py OUT [QUERIES [DEPTH]]

A document is the long description of a package, and a query its short one, of which QUERIES are drawn (600). The
relevant document is the description of the same package. OUT becomes a folder in BEIR's format with judgments `test`,
and OUT/bm25.run is a TREC run with the DEPTH (50) best documents of each query.
"""

import glob
import hashlib
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict

K1, B = 1.2, 0.75


def descriptions():
    """The package, the short and the long description of each package, the first where a package has several; of equal
    long ones the first."""
    found, packages = {}, set()
    for path in sorted(glob.glob("/var/lib/apt/lists/*_Translation-en*")):
        text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], check=True, capture_output=True).stdout
        for entry in text.decode().split("\n\n"):
            parts = re.match(r"Package: (\S+)\n.*?Description-en: ([^\n]+)\n(.*)", entry, re.DOTALL)
            if parts:
                package, short, long = parts.groups()
                lines = [line.strip() for line in long.split("\n") if line.strip() != "."]
                if package not in packages:
                    packages.add(package)
                    found.setdefault(" ".join(lines), (package, short))
    # A short description that several packages have asks for none of them.
    often = Counter(short for _, short in found.values())
    return [(package, short, long) for long, (package, short) in found.items()], often


def words(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def index(texts):
    """For each word, the documents that have it and how BM25 weighs it there."""
    counts = [Counter(words(text)) for text in texts]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths)
    postings = defaultdict(list)
    for at, (count, length) in enumerate(zip(counts, lengths)):
        for word, times in count.items():
            postings[word].append((at, times * (K1 + 1) / (times + K1 * (1 - B + B * length / mean))))
    return {word: (math.log(1 + (len(texts) - len(of) + 0.5) / (len(of) + 0.5)), of) for word, of in postings.items()}


def main():
    out, queries, depth = sys.argv[1], *(int(number) for number in [*sys.argv[2:], *[600, 50][len(sys.argv) - 2:]])
    documents, often = descriptions()
    if not documents:
        sys.exit("found no descriptions in English: run `apt-get update -o Acquire::Languages=en`")
    order = sorted(documents, key=lambda document: hashlib.sha256(document[0].encode()).digest())
    chosen = [(package, short) for package, short, _ in order if often[short] == 1][:queries]
    os.makedirs(os.path.join(out, "qrels"), exist_ok=True)
    files = {name: open(os.path.join(out, name), "w", encoding="utf-8")
             for name in ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "bm25.run"]}
    for package, _, long in documents:
        files["corpus.jsonl"].write(json.dumps({"_id": package, "title": "", "text": long}) + "\n")
    print("query-id", "corpus-id", "score", sep="\t", file=files["qrels/test.tsv"])
    weights = index([long for _, _, long in documents])
    for package, short in chosen:
        files["queries.jsonl"].write(json.dumps({"_id": f"q-{package}", "text": short}) + "\n")
        print(f"q-{package}", package, 1, sep="\t", file=files["qrels/test.tsv"])
        scores = Counter()
        for word in words(short):
            weight, postings = weights.get(word, (0, []))
            for at, value in postings:
                scores[at] += weight * value
        for rank, (at, score) in enumerate(scores.most_common(depth), 1):
            print(f"q-{package}", "Q0", documents[at][0], rank, f"{score:.4f}", "bm25", file=files["bm25.run"])
    print(f"{out}: {len(documents)} descriptions, {len(chosen)} queries")


main()
