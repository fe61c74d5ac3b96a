#!/usr/bin/env python3
"""Some figures of a report page as another page: python3 book/figures.py PAGE [top] NUMBER.. > FIGURES.html

Figures are counted from 1 in the order of the page; `top` is its title with the key figures.
"""

import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    head = page[: page.index("<body>")]
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    top = page[page.index("<body>") + len("<body>") : page.index("<section")] if "top" in sys.argv[2:] else ""
    chosen = "".join(figures[int(number) - 1] for number in sys.argv[2:] if number != "top")
    print(f'{head}<body style="padding: 1rem 1.5rem">{top}<div class="figures">{chosen}</div></body></html>')


if __name__ == "__main__":
    main()
