"""How a user checks answers without this project, as a file of shapes says it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

from attnspec.base.errors import UsageError

KINDS = ("uniform", "normal")
"""Numbers as benchmarks draw them: evenly from 0 to 1, or normally around 0 with a deviation of 1."""


@dataclass(frozen=True)
class OwnCheck:
    """Check of a user's own, without this project, by the rule of `numpy.allclose`.

    `numbers` fill the inputs: one of `KINDS`, or a ``.npz`` file that holds them by name.
    """

    numbers: str
    atol: float
    rtol: float


def own_check_from(stated: object, *, said_by: str) -> OwnCheck:
    """Read a user's own check from a file of shapes; `UsageError` where it does not say what it should."""
    example = '{"numbers": "uniform", "atol": 0.01, "rtol": 0.01}'
    if not isinstance(stated, dict) or {*cast("dict[str, Any]", stated)} != {"numbers", "atol", "rtol"}:
        raise UsageError(f"{said_by}: own_check must look like {example}, not {stated!r}.")
    entries = cast("dict[str, Any]", stated)
    numbers = entries["numbers"]
    if numbers not in KINDS and not (isinstance(numbers, str) and numbers.endswith(".npz")):
        raise UsageError(
            f"{said_by}: numbers must be {', '.join(KINDS)}, or a file that ends in .npz, not {numbers!r}."
        )
    for name in ("atol", "rtol"):
        value = entries[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise UsageError(f"{said_by}: {name} must be a number from 0 on, not {value!r}.")
    return OwnCheck(numbers, float(entries["atol"]), float(entries["rtol"]))
