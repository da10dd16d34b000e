"""Numbers whose exponentials leave a dtype: just beyond its own end, far beyond, and between the ends of two dtypes.

The exponential leaves float16 at 11, float32 at 89 and float64 at 710; it comes to nothing at -17, -104 and -746.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN, Sizes, attention
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, context, softmax
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

PROFILE = "stress"
STABLE = ("softmax.stability", "softmax.definition")
LADDER = (12.0, 24.0, 64.0, 88.0, 96.0, 128.0, 192.0, 224.0)
"""Beyond the end of float16, and around that of float32."""
FAR_LADDER = (300.0, 512.0, 640.0, 700.0, 704.0, 720.0, 1000.0, 4096.0)
"""Between the end of float32 and that of float64, and beyond it."""
BESIDE = np.array([0.0, -1.0, -2.0, -4.0])


def rows(largest: tuple[float, ...], beside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a row for each largest number, and one for its negative."""
    return np.concatenate([number + beside[np.newaxis] for entry in largest for number in (entry, -entry)])


def softmax_cases() -> tuple[AuthoredCase, ...]:
    """Hold each number by itself, in rows, columns and whole arrays: a guard may look at the whole array."""
    named: dict[str, tuple[tuple[float, ...], tuple[str, ...], float]] = {
        "in_every_dtype": (LADDER, EVERY_DTYPE, 1.0),
        "of_singles": (FAR_LADDER, SINGLE_AND_DOUBLE, 0.25),
    }
    one: tuple[AuthoredCase, ...] = tuple(
        softmax(f"{sign}_{number:g}", f"one row around {value:g}")(
            value + BESIDE * step, clauses=STABLE, dtypes=dtypes, profile=PROFILE
        )
        for largest, dtypes, step in named.values()
        for number in largest
        for sign, value in (("plus", number), ("minus", -number))
    )
    return (
        *one,
        *(
            made
            for name, (largest, dtypes, step) in named.items()
            for made in (
                softmax(
                    f"ladder_columns_{name}",
                    f"columns around numbers from {largest[0]:g} to {largest[-1]:g} of both signs",
                )(
                    rows(largest, BESIDE * step).T.copy(),
                    clauses=(*AXIS, "softmax.stability"),
                    dtypes=dtypes,
                    profile=PROFILE,
                    axis=0,
                ),
                softmax(f"ladder_whole_{name}", f"a whole array around {largest[4]:g}")(
                    largest[4] + np.stack([BESIDE, BESIDE[::-1] / 2.0]) * step,
                    clauses=("softmax.axis.whole", "softmax.stability"),
                    dtypes=dtypes,
                    profile=PROFILE,
                    axis=None,
                ),
            )
        ),
    )


def state_cases() -> tuple[AuthoredCase, ...]:
    """Hold states whose scores lie around large numbers of both signs, with and without a stated scale."""
    made: list[AuthoredCase] = []
    for largest, dtypes in (
        (16.0, EVERY_DTYPE),
        (112.0, EVERY_DTYPE),
        (768.0, SINGLE_AND_DOUBLE),
        (8192.0, SINGLE_AND_DOUBLE),
    ):
        for sign, factor in (("plus", 1.0), ("minus", -1.0)):
            # Four features, so that the scale is one half and exact; the second decides, the others are what comes out.
            states = grid(f"stress/states_{largest:g}_{sign}", (5, 4))
            states[:, 1] = largest / 16.0 + np.array([0.0, 0.0625, -0.0625, 0.125, -0.125])
            state = np.array([0.0, 32.0 * factor, 0.0, 0.0])
            scaled: dict[str, Any] = {"clause": "context_vector.scale.explicit", "scale": 1.0}
            for name, asked, explicit in (("", state, {}), ("_scaled", state / 2.0, scaled)):
                made.append(
                    context(
                        f"scores_{sign}_{largest:g}{name}",
                        f"scores around {factor * largest:g}" + (", a stated scale" if explicit else ""),
                    )(
                        5,
                        4,
                        profile=PROFILE,
                        replaced={"encoder_states": states, "decoder_state": asked},
                        dtypes=dtypes,
                        **explicit,
                    )
                )
    return tuple(made)


def projected_cases() -> tuple[AuthoredCase, ...]:
    """Hold scores behind projections that lie around large numbers of both signs."""
    made: list[AuthoredCase] = []
    for largest, dtypes in ((128.0, EVERY_DTYPE), (1024.0, SINGLE_AND_DOUBLE)):
        for sign, factor in (("plus", 1.0), ("minus", -1.0)):
            tokens = grid(f"stress/tokens_{largest:g}_{sign}", (3, 2))
            tokens[:, 0] = np.array([1.0, 1.0625, 0.96875])
            query = np.array([[factor * largest, 0.0], [0.0, 0.0]])
            key, value = np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(2)
            weights: dict[str, Any] = {"w_query": query, "w_key": key, "w_value": value}
            title = f"scores around {factor * largest:g}"
            made += [
                single_head(f"scores_{sign}_{largest:g}", title)(
                    3, (2, 2, 2, None), profile=PROFILE, replaced={"x": tokens, **weights}, dtypes=dtypes, scale=1.0
                ),
                multi_head(f"scores_{sign}_{largest:g}", title)(
                    (1, 3, 3),
                    width=2,
                    num_heads=1,
                    profile=PROFILE,
                    replaced={
                        **dict.fromkeys(("query", "key", "value"), tokens[np.newaxis]),
                        **weights,
                        "w_output": value,
                    },
                    dtypes=dtypes,
                    scale=1.0,
                ),
            ]
    return tuple(made)


def product_cases() -> tuple[AuthoredCase, ...]:
    """Hold products of queries and keys beyond the end of float16, which a small scale makes plain scores of."""
    of_one = grid("stress/products_beyond_float16", (4, 3))
    tokens = np.stack([of_one, of_one[::-1]])
    large, plain = np.diag([512.0, 384.0, 448.0]), np.eye(3)
    weights = {"w_query": large, "w_key": large, "w_value": plain}
    title = "products beyond the largest number of float16, and a small scale"
    scale = 2.0**-16
    return (
        single_head("products_beyond_float16", title)(
            4, (3, 3, 3, None), profile=PROFILE, replaced={"x": of_one, **weights}, scale=scale
        ),
        multi_head("products_beyond_float16", title)(
            (2, 4, 4),
            width=3,
            num_heads=3,
            profile=PROFILE,
            replaced={**dict.fromkeys(("query", "key", "value"), tokens), **weights, "w_output": plain},
            scale=scale,
        ),
        context("products_beyond_float16", title)(
            4,
            3,
            profile=PROFILE,
            replaced={"encoder_states": of_one * 512.0, "decoder_state": np.array([448.0, -512.0, 384.0])},
            clause="context_vector.scale.explicit",
            scale=scale,
        ),
    )


def mask_cases() -> tuple[AuthoredCase, ...]:
    """Hold float masks that are large and finite at every key: they exclude nothing, and their differences count."""
    sizes = Sizes(1, 2, 1, 3, 5, 2)
    differences = np.array([[0.0, 1.0, -1.0, 0.5, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0], [-2.0, 3.0, 0.0, 1.0, -1.0]])
    # Beyond 2**14 a logarithm of single precision is too coarse for differences of one (decision 6). With one key of
    # each row far above the others, a computation through it is as right as any.
    ahead = 64.0 * np.array([[0.0, 1.0, -1.0, 0.5, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0], [-2.0, 3.0, 0.0, 1.0, -1.0]])
    clauses = ("sdpa.mask.additive", "sdpa.softmax.stability")
    made: list[AuthoredCase] = []
    for name, amount in (
        ("9999", 9999.0),
        ("10000", 10000.0),
        ("32768", 32768.0),
        ("65504", 65504.0),
        ("100000", 100000.0),
    ):
        for sign, factor in (("minus", -1.0), ("plus", 1.0)):
            made.append(
                attention(f"stress/mask_{sign}_{name}", f"A float mask around {factor * amount:g} at every key")(
                    sizes,
                    clauses=clauses,
                    dtypes=SINGLE_AND_DOUBLE,
                    mask=factor * amount + (differences if amount < 2.0**14 else ahead),
                )
            )
    one_row = np.stack([np.full(5, -10000.0), differences[0], ahead[1] - 100000.0])
    beside = differences.copy()
    beside[1, 1:] = HIDDEN
    beside[1, 0] = -10000.0
    # Queries are zero, so that the scores are lost in no dtype; the keys at the largest number share equally, or there
    # is one in each row.
    far = np.array([[-1.0, -2.0, -1.0, -4.0, -1.0], [-2.0, -2.0, -2.0, -2.0, -1.0], [-1.0, -1.0, -1.0, -1.0, -1.0]])
    farther = np.array([[-2.0, -4.0, -1.0, -4.0, -2.0], [-2.0, -2.0, -2.0, -2.0, -1.0], [-3.0, -1.0, -2.0, -4.0, -2.0]])
    still: dict[str, Any] = {"query": np.zeros(sizes.shapes()["query"])}
    return (
        *made,
        attention("stress/mask_rows_of_10000", "Rows of -10000 and of -100000 at every key beside an ordinary one")(
            sizes, clauses=clauses, dtypes=SINGLE_AND_DOUBLE, mask=one_row
        ),
        attention(
            "stress/mask_10000_beside_excluded",
            "A row of a float mask with -10000 at the only key that is not excluded",
        )(sizes, clauses=clauses, dtypes=SINGLE_AND_DOUBLE, mask=beside),
        *(
            attention(f"stress/mask_minus_2_to_{power}", f"A float mask of small multiples of -2^{power} at every key")(
                sizes, clauses=clauses, dtypes=("float64", "float32", "bfloat16"), mask=farther * 2.0**power, **still
            )
            for power in (17, 40, 99, 120)
        ),
        attention("stress/mask_minus_16384", "A float mask of small multiples of -16384 at every key, in every dtype")(
            sizes, clauses=clauses, mask=far * 8192.0, **still
        ),
        multi_head("mask_minus_10000", "a float mask around -10000 at every key")(
            (1, 3, 5), width=4, num_heads=2, profile=PROFILE, mask=differences - 10000.0, dtypes=SINGLE_AND_DOUBLE
        ),
        multi_head("mask_minus_100000_causal", "a float mask around -100000 at every key, causal")(
            (1, 3, 5),
            width=4,
            num_heads=2,
            profile=PROFILE,
            mask=ahead - 100000.0,
            dtypes=SINGLE_AND_DOUBLE,
            is_causal=True,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of large numbers before the softmax."""
    return (*softmax_cases(), *state_cases(), *projected_cases(), *product_cases(), *mask_cases())
