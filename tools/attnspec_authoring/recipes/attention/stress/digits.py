"""Features of many digits, in widths that matrix units take and in wider ones: none of their bits may be dropped.

Other cases hold numbers of few bits, so that every dtype holds them; products of those are exact in single precision,
and a unit that keeps ten bits of its inputs keeps all of them. These here have twenty bits, or forty-six; attention
meets such numbers in every width in the profile pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.layout.heads import layout
from attnspec_authoring.recipes.attention.layout.projections import BIASES, QUARTER, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, context, softmax
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

PROFILE = "stress"
STEP = 2.0**-13
"""A number of seven bits times this lies just below the bits of another one."""


def digits(name: str, shape: tuple[int, ...], *, parts: int = 2, factor: float = 1.0) -> NDArray[np.float64]:
    """Draw numbers of `parts` groups of bits: two groups fill most of float32, four most of float64."""
    groups = [grid(f"{name}/digits_{part}", shape) * STEP**part for part in range(parts)]
    return np.sum(groups, axis=0) * factor


def drawn(name: str, shapes: Mapping[str, tuple[int, ...]], parts: int) -> dict[str, Any]:
    """Draw inputs by name; weight matrices are made smaller than tokens."""
    return {
        tensor: digits(f"{name}/{tensor}", shape, parts=parts, factor=QUARTER if tensor.startswith("w_") else 1.0)
        for tensor, shape in shapes.items()
    }


def of_heads() -> tuple[AuthoredCase, ...]:
    """Split and join from one head to four: a path for some number of heads may pass through a narrower dtype."""
    made: list[AuthoredCase] = []
    for heads in (1, 2, 3, 4):
        title = f"each number of 46 bits, {heads} {'head' if heads == 1 else 'heads'}"
        for joined, shape in ((False, (1, 2, 2 * heads)), (True, (1, heads, 2, 2))):
            name = f"digits_4_{heads}"
            made.append(
                layout(name, title)(
                    shape,
                    num_heads=None if joined else heads,
                    profile=PROFILE,
                    x=digits(f"stress/heads_{name}_{joined}", shape, parts=4),
                    dtypes=("float64",),
                )
            )
    return tuple(made)


def of_layers() -> tuple[AuthoredCase, ...]:
    """Attend behind projections with every input that may be given, of several heads."""
    name, double = "digits_4_of_every_input", ("float64",)
    tokens = {"query": (1, 2, 3), "key": (1, 4, 3), "value": (1, 4, 3)}
    weights = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (3, 3))
    single = {"x": (3, 4), "w_query": (4, 3), "w_key": (4, 3), "w_value": (4, 2), "w_output": (2, 5)}
    return (
        multi_head(name, "three heads, biases, a mask and a scale, each number of 46 bits")(
            (1, 2, 4),
            width=3,
            profile=PROFILE,
            biases=BIASES,
            mask=digits(f"stress/{name}/mask", (2, 4), parts=4),
            replaced=drawn(f"stress/multi_head_{name}", {**tokens, **weights, **dict.fromkeys(BIASES, (3,))}, 4),
            dtypes=double,
            scale=0.7071067811865476,
        ),
        single_head(name, "an output matrix and a scale, each number of 46 bits")(
            3,
            (4, 3, 2, 5),
            profile=PROFILE,
            replaced=drawn(f"stress/single_head_{name}", single, 4),
            dtypes=double,
            scale=0.7071067811865476,
        ),
        context(name, "four states and a scale, each number of 46 bits")(
            4,
            3,
            clause="context_vector.scale.explicit",
            profile=PROFILE,
            replaced=drawn(f"stress/context_{name}", {"encoder_states": (4, 3), "decoder_state": (3,)}, 4),
            dtypes=double,
            scale=0.7071067811865476,
        ),
        *(
            softmax(
                f"digits_4_{'whole' if axis is None else f'axis_{axis}'}",
                f"three axes along {'all of them' if axis is None else f'axis {axis}'}, each number of 46 bits",
            )(
                digits(f"stress/softmax_digits_4_axis_{axis}", (2, 3, 2), parts=4),
                clauses=("softmax.axis.whole",) if axis is None else AXIS,
                dtypes=double,
                profile=PROFILE,
                axis=axis,
            )
            for axis in (None, 0, 1, 2)
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of many digits, layers and context vectors in widths of whole tiles and in one beyond 64."""
    made: list[AuthoredCase] = []
    for parts, dtypes in ((2, SINGLE_AND_DOUBLE), (4, ("float64",))):
        bits = 20 if parts == 2 else 46
        name = f"digits_{parts}"
        tokens = {"query": (1, 2, 8), "key": (1, 3, 8), "value": (1, 3, 8)}
        weights = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (8, 8))
        single = {"x": (3, 8), "w_query": (8, 8), "w_key": (8, 8), "w_value": (8, 8)}
        made += [
            multi_head(name, f"one head of eight features, each number of {bits} bits")(
                (1, 2, 3),
                width=8,
                num_heads=1,
                profile=PROFILE,
                replaced=drawn(f"stress/multi_head_{name}", {**tokens, **weights}, parts),
                dtypes=dtypes,
            ),
            single_head(name, f"eight features, each number of {bits} bits")(
                3,
                (8, 8, 8, None),
                profile=PROFILE,
                replaced=drawn(f"stress/single_head_{name}", single, parts),
                dtypes=dtypes,
            ),
            *(
                context(f"{name}_{width}", f"three states of {width} features, each number of {bits} bits")(
                    3,
                    width,
                    profile=PROFILE,
                    replaced=drawn(
                        f"stress/context_{name}_{width}",
                        {"encoder_states": (3, width), "decoder_state": (width,)},
                        parts,
                    ),
                    dtypes=dtypes,
                )
                for width in (8, 72)
            ),
        ]
    return (*made, *of_heads(), *of_layers())
