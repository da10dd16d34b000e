"""Sums of gradients that leave half precision on the way, and come back: over heads of a group, and over features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases."""
    opposed = np.array([40960.0, 36864.0, -40960.0, -32768.0])
    return (
        gradients("group_beyond_float16", "Gradients of four heads of a group that exceed float16 until all are added")(
            Sizes(1, 4, 1, 1, 1, 1, 1), clauses=("grad_value",), grad_output=opposed.reshape(1, 4, 1, 1)
        ),
        gradients("group_beyond_float16_two_keys", "The same with two keys, the second of which has hardly any weight")(
            Sizes(1, 4, 1, 1, 2, 1, 1),
            clauses=("grad_value",),
            grad_output=opposed.reshape(1, 4, 1, 1),
            query=np.ones((1, 4, 1, 1)),
            key=np.array([[[[8.0], [-8.0]]]]),
            value=np.array([[[[0.5], [0.25]]]]),
            scale=1.0,
        ),
        gradients("group_of_300", "Gradients of 300 heads of a group, where bfloat16 stops counting at 256")(
            Sizes(1, 300, 1, 1, 1, 1, 1), clauses=("grad_value",), grad_output=np.ones((1, 300, 1, 1))
        ),
        *(
            gradients(
                f"delta_beyond_float16_{name}", f"Products of output and gradient that exceed float16 and cancel{how}"
            )(
                Sizes(1, 2, 2, 2, 3, 1, 2),
                grad_output=np.array([[[[256.0, -256.0], [-320.0, 320.0]], [[288.0, -288.0], [256.0, -256.0]]]]),
                value=np.array([[[[304.0, 300.0], [296.0, 300.0], [300.0, 304.0]]] * 2]).reshape(1, 2, 3, 2),
                derived=derived,
            )
            for name, how, derived in (("stored", ", both results given", STORED), ("alone", "", ()))
        ),
    )
