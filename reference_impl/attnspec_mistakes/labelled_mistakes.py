"""Which cases notice wrong implementations that strangers wrote, with the clauses that judges say they break.

Whoever writes an attention goes wrong where others did before. So what an unknown implementation fails is compared with
what these fail, though nobody put their mistakes into the catalogue. The file is written by
``attnspec mistakes --judged FOLDER``, which names each folder of them.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from attnspec_mistakes.kill_matrix import named_cases

FORMAT = 3

JUDGED = Path(__file__).with_name("labelled_mistakes.json")

KEPT_IN = "float64"
"""The dtype of which it is kept; that the cases differ in half precision points at the same clauses."""


class Judged(NamedTuple):
    """Wrong implementation of a stranger's: `id` is folder and name of its file, `cases` are those that notice it.

    `clauses` are broken by it; two judges list up to three each, and either may be right.
    """

    id: str
    clauses: tuple[str, ...]
    cases: frozenset[str]


@cache
def judged_implementations(operation: str) -> tuple[Judged, ...]:
    """Return the wrong implementations of an operation, by its name, that a case notices."""
    found: Mapping[str, Any] | None = _document()["operations"].get(operation)
    if found is None:
        return ()
    cases: list[str] = found["cases"]
    judged: dict[str, list[str]] = found["judged"]
    noticed = named_cases(found["noticed"], cases, len(judged))
    return tuple(
        Judged(identifier, tuple(clauses), of_one)
        for (identifier, clauses), of_one in zip(judged.items(), noticed, strict=True)
    )


@cache
def judged_cases(operation: str) -> frozenset[str]:
    """Return the ids of the cases of an operation that were tried on these implementations."""
    return frozenset(_document()["operations"].get(operation, {"cases": ()})["cases"])


@cache
def _document() -> Mapping[str, Any]:
    return json.loads(JUDGED.read_bytes())
