#!/usr/bin/env python3
"""mdBook preprocessor: pages of a forge become pages of a book.

* A block fenced as `math`, and inline code written as $`..`$ (both as forges take them), become MathML, which a browser
  shows without scripts, fonts or a network.
* A link to a file of the repository that is no page leads to a copy, which `links.py` makes.
"""

import json
import os
import re
import sys

import latex2mathml.converter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DOCS = os.path.join(ROOT, "docs")
COPIES = "repository"  # folder of copies in the book
FENCE = re.compile(r"^(\s*)```(.*)$")


def chapters(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            yield chapter
            yield from chapters(chapter["sub_items"])


def inline_math(line):
    return re.sub(r"\$`([^`]+)`\$", lambda found: latex2mathml.converter.convert(found[1]), line)


def with_copies(line, here):
    """Sends links that leave docs/ to copies, also in definitions of links."""

    def link(found):
        before, target, after = found.groups()
        path = os.path.normpath(os.path.join(DOCS, os.path.dirname(here), target))
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        if path.startswith(DOCS + os.sep):
            # mdBook makes a README the index of its folder, but leaves the links to it.
            return re.sub(r"\bREADME\.md", "index.md", found[0])
        # mdBook takes whatever contains `.md` as one of its pages.
        copy = os.path.join(COPIES, os.path.relpath(path, ROOT).replace(".md", "-md") + ".txt")
        return before + os.path.relpath(copy, os.path.dirname(here) or ".") + after

    return re.sub(r"(\]\(|^\[[^\]]+\]: )([^)#\s]+)(?:#[^)\s]*)?(\)|$)", link, line)


def page(text, here):
    lines, block, math = [], False, []
    in_math = False
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if fence and not block:
            block, info = True, fence[2].strip()
            in_math, math = info == "math", []
            if in_math:
                continue
        elif fence:
            block = False
            if in_math:
                formula = latex2mathml.converter.convert(" ".join(math), display="block")
                lines.append(f'<div class="formula">{formula}</div>')
                in_math = False
                continue
        elif in_math:
            math.append(line)
            continue
        elif not block:
            line = with_copies(inline_math(line), here)
        lines.append(line)
    return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0 if sys.argv[2] == "html" else 1)
    _, book = json.load(sys.stdin)
    for chapter in chapters(book.get("items", book.get("sections"))):
        if chapter["path"]:
            chapter["content"] = page(chapter["content"], chapter["path"])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
