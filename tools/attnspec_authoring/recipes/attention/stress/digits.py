"""Features of many digits, in widths that matrix units take and in wider ones: none of their bits may be dropped.

Other cases hold numbers of few bits, so that every dtype holds them; products of those are exact in single precision,
and a unit that keeps ten bits of its inputs keeps all of them. These here have twenty bits, or forty-six; attention
meets such numbers in every width in the profile pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.layout.projections import QUARTER, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import context
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


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of many digits: layers and context vectors in widths of whole tiles, and in one beyond 64."""
    made: list[AuthoredCase] = []
    for parts, dtypes in ((2, SINGLE_AND_DOUBLE), (4, ("float64",))):
        bits = 20 if parts == 2 else 46
        name = f"digits_{parts}"
        tokens = {"query": (1, 2, 8), "key": (1, 3, 8), "value": (1, 3, 8)}
        weights = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (8, 8))
        single = {"x": (3, 8), "w_query": (8, 8), "w_key": (8, 8), "w_value": (8, 8)}
        made += [
            multi_head(
                name,
                f"one head of eight features, each number of {bits} bits",
                (1, 2, 3),
                width=8,
                num_heads=1,
                profile=PROFILE,
                replaced=drawn(f"stress/multi_head_{name}", {**tokens, **weights}, parts),
                dtypes=dtypes,
            ),
            single_head(
                name,
                f"eight features, each number of {bits} bits",
                3,
                (8, 8, 8, None),
                profile=PROFILE,
                replaced=drawn(f"stress/single_head_{name}", single, parts),
                dtypes=dtypes,
            ),
            *(
                context(
                    f"{name}_{width}",
                    f"three states of {width} features, each number of {bits} bits",
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
    return tuple(made)
