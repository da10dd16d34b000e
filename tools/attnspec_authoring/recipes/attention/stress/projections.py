"""Large scores, and scores far below zero, behind projections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@headed
def projected(
    case_id: str, title: str, operation: str, tokens: Mapping[str, NDArray[np.float64]], revision: int = 1
) -> AuthoredCase:
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
        revision=revision,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of scores behind projections."""
    asked = np.array([[2.0, 1.0], [2.0, 3.0], [1.75, 5.0]])
    asking = np.array([[-4.0, 0.0], [-3.0, 0.0], [-4.0, 1.0]])
    # In single-head attention the tokens ask and answer: of two signs, each row has its largest score above zero.
    signs = np.array([[2.0, 1.0], [-2.0, 3.0], [-1.75, 5.0]])
    single, several = "single_head_attention", "multi_head_attention"
    answering = {"key": asked[np.newaxis], "value": asked[np.newaxis]}
    return (
        projected("stress/single_head_large_scores", "Single head: scores of some hundreds")(single, {"x": asked}, 2),
        projected("stress/single_head_opposite_scores", "Single head: scores of both signs")(single, {"x": signs}),
        projected("stress/multi_head_large_scores", "Multi-head: scores of some hundreds")(
            several, {"query": asked[np.newaxis], **answering}
        ),
        projected("stress/multi_head_scores_far_below", "Multi-head: scores far below zero")(
            several, {"query": asking[np.newaxis], **answering}
        ),
    )
