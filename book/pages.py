#!/usr/bin/env python3
"""mdBook preprocessor: pages that read as well on docs.rs and on a forge become pages of a book.

* A block fenced as `math`, and inline code written as $`..`$ (both as forges take them), become MathML, which a browser
  shows without scripts, fonts or a network.
* Code that names a page of the book, as in `docs/CONFIG.md`, becomes a link to it, under the title that it has in
  SUMMARY.md. Pages of docs.rs cannot have such links.
* A block without a language in a page that is also documentation of the crate is Rust, as rustdoc takes it.
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


def of_crate(path):
    """Whether src/guide.rs includes the page."""
    with open(os.path.join(ROOT, "src", "guide.rs"), encoding="utf-8") as guide:
        return f"../docs/{path}" in guide.read()


def inline_math(line):
    return re.sub(r"\$`([^`]+)`\$", lambda found: latex2mathml.converter.convert(found[1]), line)


def with_links(line, here, pages):
    """Puts the linked title of a page in place of code that names it, outside of links. `pages` has the titles."""

    def link(found):
        name = found[1]
        if name not in pages or name == here or found.start() and line[found.start() - 1] == "[":
            return found[0]
        return f"[{pages[name]}]({os.path.relpath(name, os.path.dirname(here) or '.')})"

    return re.sub(r"`docs/([\w./-]+\.md)`", link, line)


def with_copies(line, source, here):
    """Sends links that leave docs/ to copies. `source` is the folder that the links start from."""

    def link(found):
        target, heading = found[1], found[2] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(os.path.join(source, target))
        inside = os.path.relpath(path, DOCS)
        if not inside.startswith(".."):
            return f"]({os.path.relpath(inside, os.path.dirname(here) or '.')}{heading})"
        copy = os.path.join(COPIES, os.path.relpath(path, ROOT) + ".txt")
        return f"]({os.path.relpath(copy, os.path.dirname(here) or '.')})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", link, line)


def page(text, here, source, pages):
    rust = of_crate(here)
    lines, block, math = [], False, []
    in_math = False
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if fence and not block:
            block, info = True, fence[2].strip()
            in_math, math = info == "math", []
            if in_math:
                continue
            if rust and info in ("", "no_run") or info.startswith("rust,"):
                line = f"{fence[1]}```rust"
        elif fence:
            block = False
            if in_math:
                lines.append(latex2mathml.converter.convert(" ".join(math), display="block"))
                in_math = False
                continue
        elif in_math:
            math.append(line)
            continue
        elif not block:
            line = with_copies(with_links(inline_math(line), here, pages), source, here)
        lines.append(line)
    return "\n".join(lines)


def included(path):
    """The folder that the links of a page start from: that of the file which it includes whole, if it does."""
    with open(os.path.join(DOCS, path), encoding="utf-8") as file:
        whole = re.fullmatch(r"\{\{#include ([^}:]+)\}\}", file.read().strip())
    folder = os.path.dirname(os.path.join(DOCS, path))
    return os.path.dirname(os.path.normpath(os.path.join(folder, whole[1]))) if whole else folder


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0 if sys.argv[2] == "html" else 1)
    _, book = json.load(sys.stdin)
    items = book.get("items", book.get("sections"))
    pages = {chapter["path"]: chapter["name"] for chapter in chapters(items) if chapter["path"]}
    for chapter in chapters(items):
        if chapter["path"]:
            chapter["content"] = page(chapter["content"], chapter["path"], included(chapter["path"]), pages)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
