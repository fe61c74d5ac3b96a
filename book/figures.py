#!/usr/bin/env python3
"""Some figures of a report page as another page: python3 book/figures.py PAGE [top] [numbered] NUMBER.. > FIGURES.html

Figures are counted from 1 in the order of the page; `top` is its title with the key figures. `numbered` puts a number on
what a reader looks at: the test value, the selected round, and each figure. It leaves out the time, which depends on the
machine.
"""

import itertools
import re
import sys

BADGE = (
    '<b style="background: #b3400c; color: #fff; border-radius: 1em; display: inline-block; min-width: 1.5em; '
    'line-height: 1.5em; text-align: center; margin-right: .4em">{}</b>'
)


def numbered(page):
    count = itertools.count(1)
    page = re.sub(r"<div><dt>time</dt>.*?</div>", "", page)
    places = r"<dt>(?=test|selected)|<figcaption><strong>"
    return re.sub(places, lambda found: found[0] + BADGE.format(next(count)), page)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    options = sys.argv[2:]
    head = page[: page.index("<body>")]
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    top = page[page.index("<body>") + len("<body>") : page.index("<section")] if "top" in options else ""
    chosen = "".join(figures[int(number) - 1] for number in options if number.isdecimal())
    body = f'{top}<div class="figures">{chosen}</div>'
    body = numbered(body) if "numbered" in options else body
    print(f'{head}<body style="padding: 1rem 1.5rem">{body}</body></html>')


if __name__ == "__main__":
    main()
