"""The mutants that compute what the reference computes, each with the reason."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

Equivalents: TypeAlias = Mapping[str, str]
"""Mutant to the reason why no case can tell it from the reference."""

LISTED = Path(__file__).with_name("equivalents.toml")


def read_equivalents(file: Path = LISTED) -> Equivalents:
    """Read tables ``[[equivalent]]`` of a ``reason`` and ids of ``mutants``; `ValueError` if one occurs twice."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("equivalent", [])
    listed = [(mutant, entry["reason"]) for entry in entries for mutant in entry["mutants"]]
    equivalents = dict(listed)
    if len(equivalents) < len(listed):
        raise ValueError(f"{file.name} lists a mutant twice; keep one entry for each.")
    return equivalents
