"""Pictures of report pages for README and the guide, taken in headless Chromium.

    python3 book/screens.py target/release/burn-rank

trains configs/quickstart.toml in a temporary folder, and writes docs/pictures/quickstart.png and report.png. The first
one shows the head of the page with its learning curves. The second one also has the numbers to which
docs/start/first_ranker.md refers.
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLAIN = """
main > section { border: 0; margin: 0; padding: 0 } h2, .note, details, #results { display: none }
main > section:not(#curves):not(.shown), .shown .scroll { display: none } body { padding-top: 16px }
.number { background: #b3400f; color: #fff; border-radius: 50%; padding: .1em .45em; margin-right: .4em }
"""
# The texts behind the numbers of report.png.
NUMBERED = ["test ndcg@10", "selected epoch", "ndcg@10 (standard) by epoch", "objective that", "test queries by"]


def shot(page, name, height):
    out = os.path.join(ROOT, "docs", "pictures", name)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    light = "--blink-settings=preferredColorScheme=1"
    command = ["chromium", *options, light, f"--window-size=1200,{height}", f"--screenshot={out}", f"file://{page}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    print(out)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        train = [program, "train", os.path.join(ROOT, "configs", "quickstart.toml"), "--out", run, "--quiet"]
        subprocess.run(train, check=True)
        with open(os.path.join(run, "report.html"), encoding="utf-8") as file:
            text = file.read().replace("</head>", f"<style>{PLAIN}</style></head>", 1)
        plain = os.path.join(folder, "plain.html")
        with open(plain, "w", encoding="utf-8") as file:
            file.write(text)
        shot(plain, "quickstart.png", 680)
        text = text.replace('<section id="queries">', '<section id="queries" class="shown">')
        for number, words in enumerate(NUMBERED, 1):
            text, found = re.subn(f">({re.escape(words)})", f'><span class="number">{number}</span>\\1', text, count=1)
            assert found, f"the page has no `{words}`"
        with open(plain, "w", encoding="utf-8") as file:
            file.write(text)
        shot(plain, "report.png", 1020)


main()
