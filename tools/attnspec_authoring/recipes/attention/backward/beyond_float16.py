"""Gradients, and what they are taken of, that bfloat16 and float32 hold and float16 does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients, of_logsumexp
from attnspec_authoring.recipes.attention.backward.numbers import scaled
from attnspec_authoring.recipes.authoring import BEYOND_FLOAT16, WITHOUT_FLOAT16

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

PLAIN = Sizes(1, 2, 1, 3, 4, 3, 2)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases; a scale makes up for queries and keys, so that scores stay ordinary."""
    made: list[AuthoredCase] = []
    for size, factor in BEYOND_FLOAT16.items():
        for tensor, what, derived in (
            ("grad_output", "a gradient of the output", ()),
            ("query", "queries", ()),
            ("key", "keys", ()),
            ("value", "values", ()),
            ("value", "values and an output", STORED),
        ):
            name = f"{size}_beyond_float16_{tensor}{'_stored' if derived else ''}"
            made.append(
                gradients(name, f"{what} too {size} for float16")(
                    PLAIN,
                    clauses=("precision.accumulation",),
                    dtypes=WITHOUT_FLOAT16,
                    derived=derived,
                    **({"scale": 0.5 / factor} if tensor in ("query", "key") else {}),
                    **scaled(name, PLAIN, **{tensor: factor}),
                )
            )
        name = f"{size}_beyond_float16_grad_logsumexp"
        made.append(
            gradients(name, f"gradients of output and logsumexp too {size} for float16")(
                PLAIN,
                clauses=("precision.accumulation",),
                dtypes=WITHOUT_FLOAT16,
                grad_logsumexp=factor * of_logsumexp(f"backward/{name}", PLAIN),
                **scaled(name, PLAIN, grad_output=factor),
            )
        )
    return tuple(made)
