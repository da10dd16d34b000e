"""Scales of minus one and less, and of zero, beside products far apart.

Under a negative scale the largest product has the smallest score: a maximum that is taken before the scale is then the
minimum, and exponentials overflow. Under the scale zero every product counts alike, however large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, attention
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import context
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

PROFILE = "stress"
SCALES = (("minus_one", "minus one", -1.0), ("minus_a_quarter", "minus a quarter", -0.25), ("zero", "zero", 0.0))
PRODUCTS = np.array([512.0, -1536.0, 0.0, 1536.0, 508.0, -1528.0, -1536.0])
"""Further apart than the exponential reaches in float64, also after a quarter, with two that share the lowest place."""


def of_steps(name: str, title: str, scale: float) -> tuple[AuthoredCase, ...]:
    """Make a context vector, and attention behind projections, of one scale."""
    states = np.stack([PRODUCTS / 64.0, np.arange(7.0) - 3.0], axis=-1)
    tokens = np.stack([PRODUCTS[:5] / 64.0, np.arange(5.0) - 2.0], axis=-1)
    left, right, second = np.diag([64.0, 0.0]), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    asking = np.array([[1.0, 0.0], [-1.0, 2.0], [0.5, 1.0]])
    weights: dict[str, Any] = {"w_query": left, "w_key": right, "w_value": second}
    return (
        context(f"far_scale_{name}", f"scores far apart and the scale {title}")(
            7,
            2,
            clause="context_vector.scale.explicit",
            profile=PROFILE,
            replaced={"encoder_states": states, "decoder_state": np.array([64.0, 0.0])},
            scale=scale,
        ),
        single_head(f"far_scale_{name}", f"scores far apart and the scale {title}")(
            5, (2, 2, 2, None), profile=PROFILE, replaced={"x": tokens, **weights}, scale=scale
        ),
        multi_head(f"far_scale_{name}", f"scores far apart and the scale {title}")(
            (1, 3, 5),
            width=2,
            num_heads=1,
            profile=PROFILE,
            replaced={
                "query": asking[np.newaxis],
                **dict.fromkeys(("key", "value"), tokens[np.newaxis]),
                **weights,
                "w_output": np.eye(2),
            },
            scale=scale,
        ),
    )


def of_attention() -> tuple[AuthoredCase, ...]:
    """Make attention of a negative scale beside every feature, and of more keys than a tile holds."""
    features: dict[str, tuple[str, dict[str, Any]]] = {
        "plain": ("nothing else", {}),
        "causal": ("causality", {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}),
        "window": ("a window", {"window": [1, 1], "causal_alignment": BOTTOM_RIGHT}),
        "boolean_mask": ("a Boolean mask", {"mask": (np.arange(7) % 3 != 1)[np.newaxis]}),
        "float_mask": ("a float mask", {"mask": np.array([[0.0, 1.0, -1.0, 0.5, 2.0, 0.0, 1.5]])}),
        "key_lengths": ("lengths", {"key_lengths": [5]}),
        "alibi": ("distances", {"alibi_slopes": [0.5, 0.25], "causal_alignment": BOTTOM_RIGHT}),
        "sinks": ("sinks", {"sinks": [1536.0, -1536.0]}),
        "softcap": ("a softcap", {"softcap": 128.0}),
    }
    far: dict[str, Any] = {"query": asked(1.0, -1.0, 0.5), "key": row(PRODUCTS)}
    return (
        *(
            attention(f"stress/far_scale_{name}", f"A negative scale and products far apart, beside {title}")(
                shared(7), clauses=("sdpa.softmax.stability",), scale=-1.0, **far, **arguments
            )
            for name, (title, arguments) in features.items()
        ),
        attention("stress/far_scale_67_keys", "A negative scale and products that rise from tile to tile")(
            shared(67),
            clauses=("sdpa.softmax.stability",),
            query=asked(1.0, -1.0, 0.5),
            key=row((np.arange(67.0) - 33.0) * 32.0),
            value=row(np.round(grid("stress/far_scale_67_keys/value", (67,)))),
            scale=-1.0,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of scales far from one."""
    return (*(case for scale in SCALES for case in of_steps(*scale)), *of_attention())
