"""Axes without elements: no tokens, batch entries, heads or features. A size left to be found is not found there.

Other profiles hold attention without queries, keys, heads or batch entries; here it has none of them beside other
features, and values without features. Softmax over no numbers is left out: there are no shares to give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import boolean_mask
from attnspec_authoring.recipes.attention.layout.heads import layout
from attnspec_authoring.recipes.attention.layout.projections import BIASES, multi_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, softmax

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

WITHOUT_KEYS: tuple[tuple[str, str, tuple[str, ...], dict[str, Any]], ...] = (
    ("plain", "no bias", (), {}),
    ("biases", "every bias", BIASES, {}),
    ("output_bias", "a bias of the output alone", ("b_output",), {}),
    ("causal", "causality beside biases", BIASES, {"is_causal": True}),
)
"""What layers without keys have beside: the rest of the name, of the title, biases and attributes."""


def of_heads() -> tuple[AuthoredCase, ...]:
    """Split and join heads of each axis without elements."""
    return (
        layout("no_tokens", "no token of eight features in two heads")((2, 0, 8), num_heads=2),
        layout("no_batch_entries", "no batch entry of three tokens in two heads")((0, 3, 8), num_heads=2),
        layout("no_features", "three tokens of no feature in two heads")((1, 3, 0), num_heads=2),
        layout("no_tokens", "two heads of no token, joined")((3, 2, 0, 4)),
        layout("no_batch_entries", "no batch entry of two heads, joined")((0, 2, 3, 4)),
        layout("no_features", "two heads of no feature, joined")((1, 2, 3, 0)),
    )


def of_softmax() -> tuple[AuthoredCase, ...]:
    """Take the softmax of no rows, along either axis."""
    return (
        softmax("no_rows", "no row of four numbers")((0, 4)),
        softmax("no_columns", "no column of three numbers")((3, 0), clauses=AXIS, axis=0),
        softmax("no_rows_rank_3", "two tables without rows")((2, 0, 3)),
    )


def of_projections() -> tuple[AuthoredCase, ...]:
    """Attend without queries and without batch entries, behind projections."""
    beside = tuple(
        multi_head(f"{name}_{kind}", f"{what}, beside {kind.replace('_', ' ')}")(
            lengths, width=4, num_heads=2, biases=BIASES, outputs=("output", "weights"), mask=mask
        )
        for name, what, lengths in (
            ("no_batch_entries", "no batch entry", (0, 3, 5)),
            ("no_queries", "no query", (1, 0, 5)),
        )
        for kind, mask in (
            ("boolean_mask_of_all", boolean_mask("layout/no_entries", (lengths[1], 5))),
            ("float_mask_of_entries", np.zeros((lengths[0], 1, lengths[1], 5))),
        )
    )
    return (
        *beside,
        *(
            multi_head(f"no_keys_{name}", f"no key at all, and {what}")(
                (2, 3, 0),
                width=4,
                num_heads=2,
                biases=biases,
                outputs=("output", "weights"),
                conventions=("no_keys",),
                **attributes,
            )
            for name, what, biases, attributes in WITHOUT_KEYS
        ),
        multi_head("no_queries", "no query at all")((2, 0, 3), width=2, num_heads=2),
        multi_head("no_queries_biases", "no query at all, with biases")((1, 0, 2), width=2, num_heads=1, biases=BIASES),
        multi_head("no_batch_entries", "no batch entry at all")((0, 3, 4), width=2, num_heads=2),
        multi_head("no_batch_entries_causal", "no batch entry at all, causal")(
            (0, 3, 3), width=2, num_heads=1, is_causal=True
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of axes without elements."""
    return (*of_heads(), *of_softmax(), *of_projections())
