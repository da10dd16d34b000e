"""Numbers of many digits, scores that tie, and numbers that a projection makes: the last digits decide.

Other cases hold numbers of few bits, so that every dtype holds them; products of those are exact in single precision,
and a unit that keeps ten bits of its inputs keeps all of them. These here have twenty bits, or forty-six; attention
meets such numbers in every width in the profile pairs.

Nobody is wrong here who rounds weights to half precision, or adds up one key after the other. These cases hold the
tolerance to that, and see who drops, adds or weighs keys otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import attention, made_for
from attnspec_authoring.recipes.attention.layout.heads import layout
from attnspec_authoring.recipes.attention.layout.projections import BIASES, QUARTER, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, context, softmax
from attnspec_authoring.recipes.attention.stress.magnitudes import query_of, row, shared
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, headed
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


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


def of_heads() -> Iterator[AuthoredCase]:
    """Split and join from one head to four: a path for some number of heads may pass through a narrower dtype."""
    for heads in (1, 2, 3, 4):
        title = f"each number of 46 bits, {heads} {'head' if heads == 1 else 'heads'}"
        for joined, shape in ((False, (1, 2, 2 * heads)), (True, (1, heads, 2, 2))):
            name = f"digits_4_{heads}"
            yield layout(name, title)(
                shape,
                num_heads=None if joined else heads,
                profile=PROFILE,
                x=digits(f"stress/heads_{name}_{joined}", shape, parts=4),
                dtypes=("float64",),
            )


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


def digits_cases() -> Iterator[AuthoredCase]:
    """Return the cases of many digits, layers and context vectors in widths of whole tiles and in one beyond 64."""
    for parts, dtypes in ((2, SINGLE_AND_DOUBLE), (4, ("float64",))):
        bits = 20 if parts == 2 else 46
        name = f"digits_{parts}"
        tokens = {"query": (1, 2, 8), "key": (1, 3, 8), "value": (1, 3, 8)}
        weights = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (8, 8))
        single = {"x": (3, 8), "w_query": (8, 8), "w_key": (8, 8), "w_value": (8, 8)}
        yield from (
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
        )
    yield from (*of_heads(), *of_layers())


CLAUSES = ("sdpa.precision.accumulation", "sdpa.output")


@headed
def tied(case_id: str, title: str, scores: NDArray[np.float64], values: NDArray[np.float64]) -> AuthoredCase:
    """Make a case of one feature: the first query asks for the scores as they are, the others for parts of them."""
    return attention(f"stress/{case_id}", title)(
        shared(scores.size),
        clauses=CLAUSES,
        query=query_of(1.0, 0.875, 0.5),
        key=row(scores),
        value=row(values),
        scale=1.0,
    )


def ties_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of ties."""
    first = np.arange(256) % 2 == 0
    steps = np.arange(128)
    # Scores up to 2**-9 apart lie within one rounding step of bfloat16; the largest key makes their weights no power.
    near = np.where(steps == 0, 0.703125, steps % 32 * 2.0**-14)
    alternating, halves = np.where(first, 1.0, -1.0), np.where(np.arange(256) < 128, 1.0, -1.0)
    # Sums in single precision over more keys than these, strictly in order, come near to their tolerance.
    risen = np.where(steps % 64 == 0, np.where(steps < 64, 0.75, 1.0625), 0.0)
    dominant = np.where(np.arange(129) == 0, 0.0, -16.5)
    return (
        tied("ties_of_two_groups_64", "64 keys in two groups of equal scores whose values cancel")(
            np.where(first[:64], 0.0, -0.1171875), alternating[:64]
        ),
        tied("ties_of_two_groups_256", "256 keys in two groups of equal scores whose values cancel")(
            np.where(first, 0.0, -0.1171875), alternating
        ),
        tied("ties_in_halves", "256 keys of equal scores in two halves, each with values of one sign")(
            np.where(np.arange(256) < 128, 0.0, -0.1171875), halves
        ),
        tied("ties_under_a_rising_maximum", "Equal scores whose values change their sign where a larger maximum comes")(
            risen, np.where(steps < 64, 1.0, -1.0)
        ),
        tied(
            "ties_within_a_step",
            "128 scores that half precision hardly tells apart; the sign of the value goes with the score",
        )(near, np.where(near > 2.0**-10, 1.0, -1.0)),
        tied(
            "ties_below_the_last_digit",
            "One dominant key and 128 whose weights lie just above the last digit of a sum in single precision",
        )(dominant, np.where(np.arange(129) == 0, 0.75, 1.375)),
    )


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


def projections_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of scores behind projections."""
    tokens = np.array([[2.0, 1.0], [2.0, 3.0], [1.75, 5.0]])
    querying = np.array([[-4.0, 0.0], [-3.0, 0.0], [-4.0, 1.0]])
    # In single-head attention the tokens ask and answer: of two signs, each row has its largest score above zero.
    signs = np.array([[2.0, 1.0], [-2.0, 3.0], [-1.75, 5.0]])
    single, several = "single_head_attention", "multi_head_attention"
    answering = {"key": tokens[np.newaxis], "value": tokens[np.newaxis]}
    return (
        projected("stress/single_head_large_scores", "Single head: scores of some hundreds")(single, {"x": tokens}, 2),
        projected("stress/single_head_opposite_scores", "Single head: scores of both signs")(single, {"x": signs}),
        projected("stress/multi_head_large_scores", "Multi-head: scores of some hundreds")(
            several, {"query": tokens[np.newaxis], **answering}
        ),
        projected("stress/multi_head_scores_far_below", "Multi-head: scores far below zero")(
            several, {"query": querying[np.newaxis], **answering}
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*digits_cases(), *ties_cases(), *projections_cases())
