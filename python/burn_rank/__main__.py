"""Runs the command ``burn-rank``, also as ``python -m burn_rank``."""

import signal
import sys


def main() -> None:
    # The command is not Python code, so Ctrl-C ends it at once unless it handles the signal itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from . import _burn_rank

    sys.exit(_burn_rank.main(["burn-rank", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
