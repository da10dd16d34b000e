"""Rows of multi-head attention that may attend to no key, beside biases, causality and masks of every kind.

Such a row is zero in each head, so that its values' bias is not added, and the output's bias alone is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.layout.projections import BIASES, multi_head

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

LENGTHS = (2, 3, 5)
HEADS = 2
WIDTH = 4


def without_row(mask: NDArray[Any], *rows: tuple[int | slice, ...]) -> NDArray[Any]:
    """Exclude every key from some rows of a mask."""
    made = mask.copy()
    for row in rows:
        made[row] = False if mask.dtype == np.bool_ else HIDDEN
    return made


def masks() -> dict[str, tuple[str, NDArray[Any]]]:
    """Return masks that leave a row of all heads, or of one, without keys."""
    whole = (2, HEADS, 3, 5)

    def boolean(name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return boolean_mask(f"layout/fully_masked_{name}", shape)

    return {
        "boolean": ("one query, by a Boolean mask", without_row(boolean("boolean", (3, 5)), (1,))),
        "float": ("one query, by a float mask", without_row(float_mask("layout/fully_masked_float", (3, 5)), (2,))),
        "one_head": ("one query of one head", without_row(boolean("one_head", (HEADS, 3, 5)), (1, 0))),
        "one_entry": (
            "all queries of one batch entry",
            without_row(boolean("one_entry", (2, 1, 1, 5)), (1, slice(None), slice(None))),
        ),
        "several": (
            "queries of several heads and entries, by a float mask",
            without_row(float_mask("layout/fully_masked_several", whole), (0, 1, 2), (1, 0, 0), (1, 1, 0)),
        ),
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases with fully masked rows, for each bias alone, for all and for none."""
    given: dict[str, tuple[str, ...]] = {
        "no_bias": (),
        **{f"only_{bias}": (bias,) for bias in BIASES if bias != "b_key"},
        "all_biases": BIASES,
    }
    diagonal = np.triu(np.ones((3, 5), dtype=np.bool_))
    # The first query may attend to itself by position, and to later keys by the mask: to none.
    diagonal[0, 0] = False
    return (
        *(
            multi_head(f"fully_masked_{kind}_{name}", f"{what} may attend to no key; {name.replace('_', ' ')}")(
                LENGTHS,
                width=WIDTH,
                num_heads=HEADS,
                biases=biases,
                mask=mask,
                outputs=("output", "weights") if name == "all_biases" else ("output",),
                conventions=("fully_masked_row",),
            )
            for kind, (what, mask) in masks().items()
            for name, biases in given.items()
        ),
        multi_head("fully_masked_causal", "the first query may attend to no key, by causality and a mask, with biases")(
            LENGTHS,
            width=WIDTH,
            num_heads=HEADS,
            biases=BIASES,
            mask=diagonal,
            is_causal=True,
            outputs=("output", "weights"),
            conventions=("fully_masked_row",),
        ),
        multi_head("fully_masked_only_query", "the only query of each batch entry may attend to no key, with biases")(
            (2, 1, 3),
            width=WIDTH,
            num_heads=HEADS,
            biases=BIASES,
            mask=np.zeros((1, 3), dtype=np.bool_),
            outputs=("output", "weights"),
            conventions=("fully_masked_row",),
        ),
    )
