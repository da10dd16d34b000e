"""What is refused, one input and one axis at a time: of length 1, one longer, left out, or one more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import NAMES, drawn, merging
from attnspec_authoring.recipes.attention.merge.rejects import refused

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

TWIN = "rejects_twin_by_axis"
SHAPE = (2, 3, 2, 2)
AXES = ("entry", "head", "query", "feature")


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refused cases and their twin."""
    return (merging(TWIN, "valid twin of what is refused axis by axis")(SHAPE), *of_one_axis(), *of_one_rank())


def of_one_axis() -> tuple[AuthoredCase, ...]:
    """Return each input with one axis of length 1, and with one that is longer than is due."""
    valid = drawn(TWIN, SHAPE)
    made: list[AuthoredCase] = []
    for name in NAMES:
        clause = "outputs" if name.startswith("output") else "logsumexp"
        for axis, of_axis in enumerate(AXES[: valid[name].ndim]):
            alone, *_ = np.split(valid[name], [1], axis)
            changed = {
                "one": (alone, "one", True),
                "more": (np.concatenate([valid[name], alone], axis), "one more", False),
            }
            made += [
                refused(f"{how}_{of_axis}_of_{name}", f"{name} of {words} {of_axis} is refused")(
                    TWIN,
                    valid,
                    clause,
                    f"{name} has {words} {of_axis} where {'there are several' if strict else 'is due'}.",
                    {name: array},
                    strict,
                )
                for how, (array, words, strict) in changed.items()
            ]
    return tuple(made)


def of_one_rank() -> tuple[AuthoredCase, ...]:
    """Return each input with an axis less, and with one more at either end."""
    valid = drawn(TWIN, SHAPE)
    return tuple(
        refused(f"{how}_of_{name}", f"{name} {words} is refused")(
            TWIN, valid, "rank", f"{name} has {array.ndim} axes.", {name: array}, True
        )
        for name in NAMES
        for how, words, array in (
            ("axis_less", "without batch entries", valid[name][0]),
            ("axis_before", "with an axis more before the others", valid[name][np.newaxis]),
            ("axis_behind", "with an axis more behind the others", valid[name][..., np.newaxis]),
        )
    )
