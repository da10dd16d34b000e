"""Laws that relate cases: parts exchanged, and three parts merged in either order.

The golden values of these cases keep the laws by construction: `tests/families/attention/test_merged_states.py` holds
them against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.merge.parts import NONE, drawn, merging
from attnspec_oracle import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

SHAPE = (2, 2, 3, 2)
GROUPED = "https://github.com/ml-explore/mlx/issues/3573"

Part = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def exchanged(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give the second part as the first, and the first as the second."""
    sides = {"a": "b", "b": "a"}
    return {f"{name[:-1]}{sides[name[-1]]}": array for name, array in inputs.items()}


def commutative() -> tuple[AuthoredCase, ...]:
    """Hold parts of unlike weight, one of them empty in places, in both orders."""
    there = drawn("commutative", SHAPE)
    there["logsumexp_a"][0, 1] = [NONE, 40.0, -7.0]
    there["logsumexp_b"][1, 0] = [2.0, NONE, 88.0]
    return (
        merging("commutative_there", "two parts")(SHAPE, ("average", "commutative"), **there),
        merging("commutative_back", "the same two parts, exchanged")(
            SHAPE, ("average", "commutative"), **exchanged(there)
        ),
    )


def parts() -> tuple[Part, Part, Part]:
    """Draw three parts, of which some rows have no keys in one of them, or in none."""
    first, second = drawn("associative", SHAPE), drawn("associative_more", SHAPE)
    three: tuple[Part, Part, Part] = (
        (first["output_a"], first["logsumexp_a"] + 3.0),
        (first["output_b"], first["logsumexp_b"]),
        (second["output_a"], second["logsumexp_a"] + 1.0),
    )
    for part, (_, logsumexp) in enumerate(three):
        logsumexp[0, 0, part] = NONE
        logsumexp[1, 1, 1] = NONE
    return three


def of(first: Part, second: Part) -> dict[str, Any]:
    """Name the tensors of two parts."""
    return {"output_a": first[0], "logsumexp_a": first[1], "output_b": second[0], "logsumexp_b": second[1]}


def merged(first: Part, second: Part) -> Part:
    """Merge two parts exactly, rounded once."""
    outputs = evaluate("merge_states", of(first, second), {})
    return outputs["output"], outputs["logsumexp"]


def associative() -> tuple[AuthoredCase, ...]:
    """Hold three parts, the first two merged before, and the last two merged before.

    What was merged before has numbers of all digits, so it is offered in float64 alone.
    """
    first, second, third = parts()
    clauses, dtypes = ("average", "associative", "empty.one", "empty.both"), ("float64",)
    return (
        merging("associative_first_two", "the first two of three parts, merged before, and the third")(
            SHAPE, clauses, **of(merged(first, second), third), dtypes=dtypes, url=GROUPED
        ),
        merging("associative_last_two", "the first of three parts, and the last two, merged before")(
            SHAPE, clauses, **of(first, merged(second, third)), dtypes=dtypes
        ),
        merging("associative_outer_two", "the second of three parts, and the two others, merged before")(
            SHAPE, clauses, **of(second, merged(first, third)), dtypes=dtypes
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of laws."""
    return (*commutative(), *associative())
