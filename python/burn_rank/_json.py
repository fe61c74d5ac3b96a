"""Encodes values as JSON for the compiled module."""

from __future__ import annotations

import json
import os
from typing import Any


def _plain(value: Any) -> Any:
    """Converts numpy numbers, numpy arrays and paths to types that JSON can represent."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    for convert in ("tolist", "item"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    raise TypeError(f"{value!r}: found {type(value).__name__}, expected a number, text, list, dict or None")


def encode(name: str, value: Any) -> str:
    """Returns the value of the argument ``name`` as JSON."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except ValueError:
        raise ValueError(f"{name}: found a number that is not finite, or a value within itself") from None
