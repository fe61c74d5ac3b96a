#!/usr/bin/env python3
"""Checks a built book: every link leads to a page and a heading of it, every picture is there, and nothing is fetched.

    python3 book/links.py BOOK

First it copies what pages link to in the repository, outside of the book, into BOOK/repository as plain text. Links to
other sites are counted, not followed. Ends with 1 and a line for each link that leads nowhere.
"""

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("id", "name"):
                self.names.add(value)
            if key in ("href", "src") and value is not None:
                self.links.append((value, (tag, key) in LOADS))


def files(folder):
    for path, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(path, name)


def main():
    book = os.path.abspath(sys.argv[1])
    copies = os.path.join(book, "repository")
    pages = {}
    for path in files(book):
        if path.endswith(".html"):
            with open(path, encoding="utf-8") as file:
                pages[path] = Page(file.read())
    broken, inside, outside, formulas = [], 0, set(), 0
    for path, page in sorted(pages.items()):
        # The page for unknown addresses has its links from the top of a site.
        if os.path.basename(path) == "404.html":
            continue
        for link, loaded in page.links:
            place = urlsplit(link)
            if place.scheme in ("http", "https", "mailto"):
                outside.add(link)
                if loaded:
                    broken.append((path, link, "is loaded from the network"))
                continue
            if place.scheme:
                continue
            inside += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(place.path))) if place.path else path
            if target.startswith(copies + os.sep) and not os.path.exists(target):
                original = os.path.join(ROOT, os.path.relpath(target, copies)[: -len(".txt")])
                original = original[: -len("-md")] + ".md" if original.endswith("-md") else original
                if os.path.isfile(original):
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copyfile(original, target)
            if not os.path.isfile(target):
                broken.append((path, link, "nothing there"))
            elif place.fragment and target in pages and unquote(place.fragment) not in pages[target].names:
                broken.append((path, link, "no such heading"))
    for path, link, what in broken:
        print(f"{os.path.relpath(path, book)}: {link}: {what}", file=sys.stderr)
    print(f"{len(pages)} pages, {inside} links inside, {len(outside)} addresses outside, {len(broken)} broken")
    sys.exit(1 if broken or inside == 0 else 0)


if __name__ == "__main__":
    main()
