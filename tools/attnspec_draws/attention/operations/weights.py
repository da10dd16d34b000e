"""Drawn cases of random weights, graded by their properties: any seed, and any numbers of rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec.families.attention.weight_initialisation import FEWEST_ELEMENTS
from attnspec_draws.generators import Drawn

if TYPE_CHECKING:
    from attnspec_draws.generators import Limits, Words

_MOST_ROWS, _LARGEST_SEED = 4_096, 2**31 - 2
_SEEDS = {"zero": 1, "any": 7}
"""Seeds, with weights: those that every generator takes, of 31 binary digits at most."""

_CLAUSES = ("shape", "mean", "standard_deviation", "distribution", "tails", "seed")


def draw_weights(words: Words, limits: Limits) -> Drawn:
    """Draw a case of random weights, of no fewer elements than its properties are graded on.

    Limits with fewer elements are exceeded; `UsageError` where stated rows and columns make it too small.
    """
    stream = words.of("fans")
    drawn_rows = stream.of_any_size(1, _MOST_ROWS)
    rows = limits.stated.get("fan_in", drawn_rows)
    fewest = -(-FEWEST_ELEMENTS // max(rows, 1))
    drawn_columns = stream.of_any_size(fewest, max(limits.elements // max(rows, 1), fewest))
    stream = words.of("seed")
    kind, any_seed = stream.weighted(_SEEDS), stream.of_any_size(1, _LARGEST_SEED + 1) - 1
    attributes: dict[str, Any] = {
        "fan_in": rows,
        "fan_out": drawn_columns,
        "seed": 0 if kind == "zero" else any_seed,
        **limits.stated,
    }
    if attributes["fan_in"] * attributes["fan_out"] < FEWEST_ELEMENTS:
        raise UsageError(
            f"Weights are graded by properties of {FEWEST_ELEMENTS} elements and more, and these are "
            f"{attributes['fan_in']} by {attributes['fan_out']}: state more rows or columns."
        )
    return Drawn(
        inputs={},
        attributes=attributes,
        features=(),
        extents={},
        clauses=tuple(f"glorot_normal.{name}" for name in _CLAUSES),
        properties={"distribution": "normal", "fan_in": attributes["fan_in"], "fan_out": attributes["fan_out"]},
        others={"seed": attributes["seed"] + 1},
    )
