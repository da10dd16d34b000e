"""Features that meet: the rows of the forward pass, and what the backward pass adds to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import BACKWARD, STORED, drawn, gradients
from attnspec_authoring.recipes.attention.pairwise import arguments_of, sizes_of
from attnspec_authoring.recipes.attention.pairwise_rows import LEVELS, ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

KEPT: tuple[tuple[str, ...], ...] = (STORED, (), ("logsumexp",), STORED, ("output",))
"""What is given of the forward pass, by the number of the row."""


def case_of(number: int, levels: Mapping[str, str]) -> AuthoredCase:
    """Make the case of a row: a past becomes lengths of the queries, a logsumexp its gradient."""
    name = f"meeting_{number:02}"
    sizes = _smaller(sizes_of({**levels, "cache": "key_lengths" if levels["cache"] == "past" else levels["cache"]}))
    arguments: dict[str, Any] = arguments_of({**levels, "cache": _without_past(levels)}, sizes, f"backward/{name}")
    if levels["cache"] == "past":
        arguments["query_lengths"] = np.array([sizes.queries - 1, sizes.queries, 1][: sizes.batch])
    inputs = {tensor: arguments[tensor] for tensor in BACKWARD.optional_inputs if tensor in arguments}
    if depends_on_alignment({**drawn(name, sizes), **inputs}, arguments):
        by_number = BOTTOM_RIGHT if number % 2 else TOP_LEFT
        arguments["causal_alignment"] = by_number if levels["causal"] == "off" else levels["causal"]
    derived = KEPT[number % len(KEPT)]
    usual = {"off", "none", "default", "equal"}
    named = [f"{feature} {level}".replace("_", " ") for feature, level in levels.items() if level not in usual]
    named = [part.replace("cache past", "query lengths").replace("logsumexp on", "grad logsumexp") for part in named]
    return gradients(name, f"Features that meet: {', '.join([*named, *(f'given {given}' for given in derived)])}")(
        sizes, derived=derived, with_grad_logsumexp=levels["logsumexp"] == "on", **arguments
    )


def _without_past(levels: Mapping[str, str]) -> str:
    return "none" if levels["cache"] == "past" else levels["cache"]


def _smaller(sizes: Sizes) -> Sizes:
    """Return sizes of fewer features and keys: a gradient takes as much room as what it belongs to."""
    return Sizes(
        sizes.batch,
        sizes.heads,
        sizes.shared,
        sizes.queries,
        min(sizes.keys, 6),
        2,
        1 if sizes.value_width is None else 3,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return a case for each row."""
    return tuple(case_of(number, dict(zip(LEVELS, row, strict=True))) for number, row in enumerate(ROWS))
