"""Cases whose sums lose all but their first terms where they are kept in half precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention, made_for
from attnspec_authoring.recipes.attention.special_paths import GITHUB, asked, row, shared
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase

if TYPE_CHECKING:
    from numpy.typing import NDArray


def twice(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay one number for each token out as the tokens of one head, once in each of two features."""
    return np.repeat(row(numbers), 2, axis=-1)


def far_below(count: int) -> NDArray[np.float64]:
    """Return one 0 and numbers below -7.75: equal ones would add up their rounding errors, too."""
    return np.where(np.arange(count) == 0, 0.0, -7.75 - np.arange(count) % 8 / 8)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases."""
    # A sum near 1 loses the first small ones in bfloat16 alone, the last ones in float16, too.
    exponents = np.repeat([0.0, -6.25, -7.75], [8, 72, 128])
    # With two features, an einsum adds up in the dtype of the values; with one it may add in a wider one.
    one_of_64 = np.where(np.arange(64) == 0, 1024.0, 0.4375)
    one_of_16 = np.where(np.arange(16) == 0, 256.0, 0.875)
    return (
        attention(
            "stress/many_small_weights",
            "Eight keys, and 200 so far below them that a sum in half precision never sees them",
            shared(208),
            url=GITHUB + "sonos/tract/pull/2586",
            query=asked(1.0, 1.0, 1.0),
            key=row(exponents),
            value=row(np.where(exponents == 0, 1.0, -1.0)),
            scale=1.0,
        ),
        attention(
            "stress/one_large_value_64",
            "64 equal weights and one large value: sums of values in half precision lose the rest",
            Sizes(1, 2, 1, 3, 64, 1, 2),
            url=GITHUB + "cactus-compute/cactus/pull/480",
            query=asked(0.0, 0.0, 0.0),
            key=np.zeros((1, 1, 64, 1)),
            value=twice(one_of_64),
        ),
        attention(
            "stress/one_large_value_16",
            "Sixteen equal weights and one large value, within one tile",
            Sizes(1, 2, 1, 3, 16, 1, 2),
            url=GITHUB + "NVIDIA/TensorRT-LLM/pull/18044",
            query=asked(0.0, 0.0, 0.0),
            key=np.zeros((1, 1, 16, 1)),
            value=twice(one_of_16),
        ),
        AuthoredCase(
            id="layout/softmax_many_small",
            title="One number and 160 so far below it that a sum in half precision never sees them",
            operation="softmax",
            clauses=("softmax.definition", "softmax.stability"),
            source=made_for("layout"),
            inputs={"x": far_below(161)},
            dtypes=EVERY_DTYPE,
            sample={"output": (0, 1, 160)},
        ),
        AuthoredCase(
            id="layout/softmax_many_small_down",
            title="The same down two columns of 130 numbers",
            operation="softmax",
            clauses=("softmax.definition", "softmax.axis.explicit"),
            source=made_for("layout"),
            inputs={"x": np.stack([far_below(130), far_below(130)[::-1]], axis=-1)},
            attributes={"axis": 0},
            dtypes=EVERY_DTYPE,
            sample={"output": (0, 1, 258, 259)},
        ),
    )
