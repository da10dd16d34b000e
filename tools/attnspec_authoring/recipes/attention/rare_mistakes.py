"""Cases for mistakes that hardly any other case notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    float_mask,
    made_for,
)
from attnspec_authoring.recipes.attention.layout.projections import multi_head
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def projected(case_id: str, title: str, operation: str, tokens: Mapping[str, NDArray[np.float64]]) -> AuthoredCase:
    """Make a case of an operation with projections whose first feature alone decides the scores.

    The matrices for queries and keys multiply the first feature by 16 and drop the second one; that for values, and
    that of the output, are the identity.
    """
    matrices = {"w_query": np.diag([16.0, 0.0]), "w_key": np.diag([16.0, 0.0]), "w_value": np.eye(2)}
    short = operation.removesuffix("_attention")
    several = operation == "multi_head_attention"
    if several:
        matrices["w_output"] = np.eye(2)
    return AuthoredCase(
        id=case_id,
        title=title,
        operation=operation,
        clauses=tuple(f"{short}.{clause}" for clause in ("projections", "scale.default", "softmax.keys")),
        source=made_for("stress"),
        inputs={**tokens, **matrices},
        attributes={"num_heads": 1} if several else {},
        dtypes=EVERY_DTYPE,
    )


def large_scores() -> tuple[AuthoredCase, ...]:
    """Hold scores of some thousands, and of some thousands below zero, behind projections."""
    asked = np.array([[2.0, 1.0], [2.0, 3.0], [1.75, 5.0]])
    asking = np.array([[-4.0, 0.0], [-3.0, 0.0], [-4.0, 1.0]])
    # In single-head attention the tokens ask and answer: of two signs, each row has its largest score above zero.
    signs = np.array([[2.0, 1.0], [-2.0, 3.0], [-1.75, 5.0]])
    single, several = "single_head_attention", "multi_head_attention"
    answering = {"key": asked[np.newaxis], "value": asked[np.newaxis]}
    return (
        projected("stress/single_head_large_scores", "Single head: scores of some hundreds", single, {"x": asked}),
        projected("stress/single_head_opposite_scores", "Single head: scores of both signs", single, {"x": signs}),
        projected(
            "stress/multi_head_large_scores",
            "Multi-head: scores of some hundreds",
            several,
            {"query": asked[np.newaxis], **answering},
        ),
        projected(
            "stress/multi_head_scores_far_below",
            "Multi-head: scores far below zero",
            several,
            {"query": asking[np.newaxis], **answering},
        ),
    )


def long_positions() -> tuple[AuthoredCase, ...]:
    """Hold positions that do not fit into a byte; equal scores, so that the output tells which keys were attended."""

    def alike(total: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = (1, 1, total, 1)
        return np.zeros(shape), grid("causal/more_positions_than_a_byte", shape)

    query = np.zeros((1, 2, 3, 1))
    keys, values = alike(260)
    cached_keys, cached_values = alike(134)
    return (
        attention(
            "causal/more_positions_than_a_byte",
            "Positions beyond 255, aligned to the last key",
            Sizes(1, 2, 1, 3, 260, width=1),
            query=query,
            key=keys,
            value=values,
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
        ),
        attention(
            "cache/more_positions_than_a_signed_byte",
            "Positions beyond 127, behind a long past",
            Sizes(1, 2, 1, 3, 4, width=1, past=130),
            query=query,
            key=cached_keys[:, :, 130:],
            value=cached_values[:, :, 130:],
            past_key=cached_keys[:, :, :130],
            past_value=cached_values[:, :, :130],
            is_causal=True,
            causal_alignment=TOP_LEFT,
        ),
    )


def others() -> tuple[AuthoredCase, ...]:
    """Hold a softcap of 0 beside a mask, causality beside a mask for each head, and one more initialisation."""
    small = Sizes(1, 2, 1, 3, 4, width=2)
    wide = {"fan_in": 32, "fan_out": 128}
    return (
        attention(
            "softcap/off_by_zero_with_mask",
            "A cap of zero means no cap, beside a float mask",
            small,
            mask=float_mask("softcap/off_by_zero_with_mask", (3, 4)),
            softcap=0.0,
        ),
        multi_head(
            "causal_and_mask_of_heads",
            "causal with a mask for each head, as many heads as batch entries",
            (2, 3, 3),
            width=4,
            num_heads=2,
            is_causal=True,
            mask=np.array([[[1, 0, 1], [1, 1, 1], [0, 1, 1]], [[1, 1, 1], [0, 1, 1], [1, 1, 0]]], dtype=bool),
        ),
        AuthoredCase(
            id="layout/glorot_normal_wide",
            title="Glorot normal weights of a 32x128 matrix, seed 1",
            operation="glorot_normal",
            clauses=tuple(
                f"glorot_normal.{clause}" for clause in ("shape", "mean", "standard_deviation", "distribution", "seed")
            ),
            source=made_for("layout"),
            attributes={**wide, "seed": 1},
            dtypes=(),
            properties={"distribution": "normal", **wide},
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases."""
    return (*large_scores(), *long_positions(), *others())
