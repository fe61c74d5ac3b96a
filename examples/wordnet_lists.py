"""Lists of texts from WordNet: which meaning of a word does a usage example show?

    apt-get install wordnet-base
    python3 examples/wordnet_lists.py /usr/share/wordnet OUT [TRAIN [VALIDATION [TEST]]]

A query is "lemma: usage example", and its documents are the definitions of that lemma in the order of WordNet, the most
frequent meaning first. The definition for which the example was written is relevant. No lemma is in two of the parts,
which are OUT/train.jsonl, OUT/validation.jsonl and OUT/test.jsonl; the numbers of lists are 2,400, 300 and 600 unless
given.
"""

import hashlib
import json
import os
import re
import sys

PARTS = {"train": (2400, range(0, 80)), "validation": (300, range(80, 90)), "test": (600, range(90, 100))}


def synsets(folder):
    """The definition and the examples of each meaning, and the meanings of each lemma, the most frequent first."""
    glosses, meanings = {}, {}
    for letter, kind in {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}.items():
        with open(os.path.join(folder, f"data.{kind}"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("  "):
                    gloss = line.split(" | ", 1)[1].strip()
                    definition = re.split(r'; *"', gloss, maxsplit=1)[0].strip()
                    glosses[letter + line[:8]] = definition, re.findall(r'"([^"]+)"', gloss)
        with open(os.path.join(folder, f"index.{kind}"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("  "):
                    fields = line.split()
                    offsets = fields[-int(fields[2]):]
                    meanings.setdefault(fields[0].replace("_", " "), []).extend(letter + at for at in offsets)
    return glosses, meanings


def lists(folder):
    """Each example that has its lemma, with the meanings of the lemma, of which there are two or more."""
    glosses, meanings = synsets(folder)
    for lemma, of_lemma in sorted(meanings.items()):
        for meaning in of_lemma:
            for example in glosses[meaning][1]:
                if len(of_lemma) > 1 and re.search(rf"\b{re.escape(lemma)}", example.lower()):
                    documents = [(at, glosses[at][0], int(at == meaning)) for at in of_lemma]
                    yield lemma, f"{lemma}: {example}", documents


def number(text):
    """A number that follows from a text alone, by which lists are chosen."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def main():
    source, out, *counts = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    found = sorted(lists(source), key=lambda found: number(found[1]))
    for at, (part, (count, of_hundred)) in enumerate(PARTS.items()):
        count = int(counts[at]) if at < len(counts) else count
        own = [found for found in found if number(found[0]) % 100 in of_hundred][:count]
        with open(os.path.join(out, f"{part}.jsonl"), "w", encoding="utf-8") as file:
            for query, (_, text, documents) in enumerate(own):
                for identifier, definition, relevance in documents:
                    line = {"query_id": f"{part}-{query}", "doc_id": identifier, "query": text, "text": definition}
                    file.write(json.dumps({**line, "relevance": relevance}, ensure_ascii=False) + "\n")
        print(f"{part}: {len(own)} lists, {sum(len(documents) for *_, documents in own)} documents")


main()
