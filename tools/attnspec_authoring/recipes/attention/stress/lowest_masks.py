"""Float masks that hold about the most negative number of a dtype: it excludes nothing, and is not told by its size.

Libraries write it where they mean minus infinity. Here each query has one key that is not excluded, and that key has
the lowest number; so its value comes out, whatever else the row holds. Two such keys would share, which a computation
through the logarithm of the denominator no longer gives (decision 6). Values of the other keys lie far away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN, TOP_LEFT, Sizes, attention
from attnspec_authoring.recipes.attention.layout.projections import multi_head

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

SIZES = Sizes(1, 2, 1, 3, 5, 1)
AFTER_A_PAST = Sizes(1, 2, 1, 3, 3, 1, past=2)
LOWEST = {
    "float32": -(2.0 - 2.0**-22) * 2.0**126,
    "float16": -(2.0 - 2.0**-10) * 2.0**14,
    "bfloat16": -(2.0 - 2.0**-6) * 2.0**126,
}
"""Half of the most negative number of a dtype, or a little less: those who fold the logarithm of 2 into the exponent
multiply logits by 1.44, for which the clause leaves room."""
OFFERED = {
    "float32": ("float64", "float32"),
    "float16": ("float64", "float32", "float16"),
    "bfloat16": ("float64", "float32", "bfloat16"),
}
"""A dtype to those that hold its lowest number. That of float64 is left out: who carries float64 in float32, as the
convention `accumulation` allows, has no such number."""
VALUES = np.array([3.0, -64.0, 5.0, 96.0, -32.0])


def one_key_each(lowest: float) -> NDArray[np.float64]:
    """Leave the first two queries one key each, at the lowest number, and the third every key, one of them as it is."""
    mask = np.full((3, 5), HIDDEN)
    mask[0, 0] = mask[1, 2] = lowest
    mask[2] = [lowest, lowest, 0.0, lowest, lowest]
    return mask


def still(sizes: Sizes) -> dict[str, Any]:
    """Return keys that score alike, with values that tell them apart."""
    made: dict[str, Any] = {name: np.zeros(shape) for name, shape in sizes.shapes().items()}
    values = VALUES.reshape(1, 1, 5, 1)
    made["value"] = values[:, :, sizes.past :]
    if sizes.past:
        made["past_value"] = values[:, :, : sizes.past]
    return made


def from_the_second_on(lowest: float) -> NDArray[np.float64]:
    """Hold the lowest number everywhere but at the own positions of the second query and the third."""
    mask = np.full((3, 5), lowest)
    mask[1, 1] = mask[2, 2] = 0.0
    return mask


def of_one_dtype(dtype: str) -> tuple[AuthoredCase, ...]:
    """Exclude the other keys by each feature that can, and set others beside; half precision has some of them."""
    lowest = LOWEST[dtype]
    rows, everywhere = one_key_each(lowest), np.full((3, 5), lowest)
    placed: dict[str, Any] = {"causal_alignment": TOP_LEFT}
    features: tuple[tuple[str, str, Sizes, NDArray[np.float64], dict[str, Any]], ...] = (
        ("weights", "minus infinity at the others", SIZES, rows, {"outputs": ("output", "weights")}),
        ("past", "minus infinity at the others, a past", AFTER_A_PAST, rows, {}),
        ("softcap", "minus infinity at the others, a softcap", SIZES, rows, {"softcap": 2.0}),
        ("alibi", "minus infinity at the others, distances", SIZES, rows, {"alibi_slopes": [0.5, 0.25], **placed}),
        ("causal", "causality", SIZES, from_the_second_on(lowest), {"is_causal": True, **placed}),
        ("window", "a window of the own position", SIZES, everywhere, {"window": [0, 0], **placed}),
        ("key_lengths", "a length of one key", SIZES, everywhere[:1], {"key_lengths": [1]}),
    )
    of_attention = (
        attention(
            f"stress/lowest_mask_{name}_{dtype}",
            f"A number as low as {dtype} holds at the only key that is left: {how}",
        )(
            sizes,
            clauses=("sdpa.mask.additive", "sdpa.softmax.stability"),
            dtypes=OFFERED[dtype],
            mask=mask,
            **(still(sizes) | arguments),
        )
        for name, how, sizes, mask, arguments in features
        if dtype == "float32" or name in ("weights", "causal", "key_lengths")
    )
    nothing, same = np.zeros((1, 1)), np.eye(1)
    values = VALUES.reshape(1, 5, 1)
    return (
        *of_attention,
        multi_head(f"lowest_mask_{dtype}", f"a number as low as {dtype} holds at the only key that is left")(
            (1, 3, 5),
            width=1,
            num_heads=1,
            profile="stress",
            mask=rows,
            replaced={
                "key": values,
                "value": values,
                "w_query": nothing,
                "w_key": nothing,
                "w_value": same,
                "w_output": same,
            },
            dtypes=OFFERED[dtype],
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the masks of every dtype."""
    return tuple(case for dtype in OFFERED for case in of_one_dtype(dtype))
