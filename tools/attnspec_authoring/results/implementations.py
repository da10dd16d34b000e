"""Implementations of the table: ``spec/results/implementations.toml`` says of each its library and language.

A new library is one adapter, which joins in ``attnspec/base/extensions.json``, and one entry here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from attnspec_authoring.results.stored import RESULTS


@dataclass(frozen=True)
class Implementation:
    """An implementation of the table.

    `packages` are requirements of its environment, of which the first is the library whose version counts. A program
    in another language has a `command` that speaks the protocol or, where `answers` names a format, is given exported
    files of one `operation`. `build` comes before that, and `tool` says the version of its language.
    """

    name: str
    library: str
    language: str
    runs: str
    packages: tuple[str, ...] = ()
    tool: str | None = None
    build: str | None = None
    command: str | None = None
    answers: str | None = None
    operation: str | None = None


def read_implementations(path: Path = RESULTS / "implementations.toml") -> dict[str, Implementation]:
    """Read the implementations, by name."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: Implementation(name=name, packages=tuple(entry.pop("packages", ())), **entry)
        for name, entry in table.items()
    }
