"""Trains a ranker from a configuration."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _burn_rank
from ._burn_rank import Ranker
from ._json import encode

#: A function that receives events, see :func:`train`.
Progress = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class Run:
    """A finished run of :func:`train`."""

    ranker: Ranker
    folder: Path
    report: dict[str, Any]
    """The contents of ``report.json``."""

    @property
    def measures(self) -> dict[str, Any]:
        """Returns the measures of each set of queries."""
        return self.report["measures"]


def _print_round(event: dict[str, Any]) -> None:
    if event["event"] != "round":
        return
    value = event["validation"] if event["validation"] is not None else event["train"]
    measured = "" if value is None else f"  {value:.4f}"
    print(f"round {event['round']}{measured}  loss {event['objective']:.4f}", file=sys.stderr)


def listener(progress: Progress | bool | None) -> Callable[[str], None]:
    """Returns the function that the compiled module calls with the JSON text of each event."""
    show = _print_round if progress is True else progress

    def tell(text: str) -> None:
        event = json.loads(text)
        if callable(show):
            show(event)
        if event["event"] == "warning":
            warnings.warn(event["message"], stacklevel=3)

    return tell


def _overrides(given: Mapping[str, Any] | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [f"{key}={encode(key, value)}" for key, value in given.items()]
    if isinstance(given, str):
        raise TypeError("overrides: found a text, expected a dict or a list of texts key=value")
    return list(given)


def train(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    overrides: Mapping[str, Any] | Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    start: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
) -> Run:
    """Fits one ranker from a configuration, like ``burn-rank train``, and writes all its files to a folder.

    ``config`` is the path of a file, its text (a ``str`` with a line break), or a dict with the same keys, which
    docs/reference/configuration lists. ``overrides`` replace keys, as in ``{"learner.epochs": 10}``, and ``None``
    removes a key. The folder is ``out``, by default ``runs/NAME``, or ``runs/NAME-2`` if that holds another run. It
    must be new or empty, or hold the same run. A finished run of the same configuration and data is returned without a
    new fit. ``resume=True`` continues an unfinished run. With ``overwrite=True``, the new run replaces the one in the
    folder when it is complete. ``start`` is a saved ranker of trees to which the fit adds trees.

    ``progress`` is called with a dict for each event (``"event"``: ``"begin"``, ``"round"``, ``"warning"``, ``"end"``)
    in the thread of the caller. ``progress=True`` prints the rounds. Warnings are Python warnings. If ``progress``
    raises, or on Ctrl-C, the fit stops after the round, saves its best model so far, and raises the exception.
    ``resume=True`` continues such a run. A second Ctrl-C stops the fit without waiting for the round.

    Raises ``ValueError`` for a configuration or data that cannot be used; the message names the file, line and column,
    or the key. Raises ``OSError`` for a file that cannot be read or written, and ``RuntimeError`` for other failures.
    """
    if resume and overwrite:
        raise ValueError("resume, overwrite: found both, expected one at most")
    claim = "resume" if resume else "overwrite" if overwrite else "new"
    written: str | os.PathLike[str] | tuple[str, str]
    if isinstance(config, Mapping):
        written = ("json", encode("config", dict(config)))
    elif isinstance(config, str) and "\n" in config:
        written = ("toml", config)
    elif isinstance(config, (str, os.PathLike)):
        written = config
    else:
        raise TypeError(f"config: found {type(config).__name__}, expected a path, a text of TOML or a dict")
    ranker, folder, report = _burn_rank.train(written, _overrides(overrides), out, claim, start, listener(progress))
    return Run(ranker, Path(folder), json.loads(report))
