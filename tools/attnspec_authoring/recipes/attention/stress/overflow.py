"""Numbers whose exponentials, squares or sums overflow, and numbers that float16 does not hold.

The exponential leaves float16 at 11, float32 at 89 and float64 at 710; it comes to nothing at -17, -104 and -746.

Who reads bfloat16 by way of float16 keeps all digits of ordinary numbers, and loses these alone. What is so large or so
small in one input is made up for by another, so that scores stay ordinary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN, Sizes, attention
from attnspec_authoring.recipes.attention.layout.heads import counted, layout
from attnspec_authoring.recipes.attention.layout.projections import drawn, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, context, softmax
from attnspec_authoring.recipes.attention.quantized.formats import E4M3, quantized
from attnspec_authoring.recipes.authoring import BEYOND_FLOAT16, EVERY_DTYPE, SINGLE_AND_DOUBLE, WITHOUT_FLOAT16, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    case = table(softmax, profile=PROFILE)
    named: dict[str, tuple[tuple[float, ...], tuple[str, ...], float]] = {
        "in_every_dtype": (LADDER, EVERY_DTYPE, 1.0),
        "of_singles": (FAR_LADDER, SINGLE_AND_DOUBLE, 0.25),
    }
    one: tuple[AuthoredCase, ...] = tuple(
        case(f"{sign}_{number:g}", f"one row around {value:g}")(value + BESIDE * step, clauses=STABLE, dtypes=dtypes)
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
                case(
                    f"ladder_columns_{name}",
                    f"columns around numbers from {largest[0]:g} to {largest[-1]:g} of both signs",
                )(rows(largest, BESIDE * step).T.copy(), clauses=(*AXIS, "softmax.stability"), dtypes=dtypes, axis=0),
                case(f"ladder_whole_{name}", f"a whole array around {largest[4]:g}")(
                    largest[4] + np.stack([BESIDE, BESIDE[::-1] / 2.0]) * step,
                    clauses=("softmax.axis.whole", "softmax.stability"),
                    dtypes=dtypes,
                    axis=None,
                ),
            )
        ),
    )


def state_cases() -> Iterator[AuthoredCase]:
    """Hold states whose scores lie around large numbers of both signs, with and without a stated scale."""
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
            for name, decoder, explicit in (("", state, {}), ("_scaled", state / 2.0, scaled)):
                yield context(
                    f"scores_{sign}_{largest:g}{name}",
                    f"scores around {factor * largest:g}" + (", a stated scale" if explicit else ""),
                )(
                    5,
                    4,
                    profile=PROFILE,
                    replaced={"encoder_states": states, "decoder_state": decoder},
                    dtypes=dtypes,
                    **explicit,
                )


def projected_cases() -> Iterator[AuthoredCase]:
    """Hold scores behind projections that lie around large numbers of both signs."""
    for largest, dtypes in ((128.0, EVERY_DTYPE), (1024.0, SINGLE_AND_DOUBLE)):
        for sign, factor in (("plus", 1.0), ("minus", -1.0)):
            tokens = grid(f"stress/tokens_{largest:g}_{sign}", (3, 2))
            tokens[:, 0] = np.array([1.0, 1.0625, 0.96875])
            query = np.array([[factor * largest, 0.0], [0.0, 0.0]])
            key, value = np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(2)
            weights: dict[str, Any] = {"w_query": query, "w_key": key, "w_value": value}
            title = f"scores around {factor * largest:g}"
            yield from (
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
            )


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


def mask_cases() -> Iterator[AuthoredCase]:
    """Hold float masks that are large and finite at every key: they exclude nothing, and their differences count."""
    case = table(attention, dtypes=SINGLE_AND_DOUBLE)
    sizes = Sizes(1, 2, 1, 3, 5, 2)
    differences = np.array([[0.0, 1.0, -1.0, 0.5, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0], [-2.0, 3.0, 0.0, 1.0, -1.0]])
    # Beyond 2**14 a logarithm of single precision is too coarse for differences of one (decision 6). With one key of
    # each row far above the others, a computation through it is as right as any.
    ahead = 64.0 * np.array([[0.0, 1.0, -1.0, 0.5, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0], [-2.0, 3.0, 0.0, 1.0, -1.0]])
    clauses = ("sdpa.mask.additive", "sdpa.softmax.stability")
    for name, amount in (
        ("9999", 9999.0),
        ("10000", 10000.0),
        ("32768", 32768.0),
        ("65504", 65504.0),
        ("100000", 100000.0),
    ):
        for sign, factor in (("minus", -1.0), ("plus", 1.0)):
            yield case(f"stress/mask_{sign}_{name}", f"A float mask around {factor * amount:g} at every key")(
                sizes, clauses=clauses, mask=factor * amount + (differences if amount < 2.0**14 else ahead)
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
    yield from (
        case("stress/mask_rows_of_10000", "Rows of -10000 and of -100000 at every key beside an ordinary one")(
            sizes, clauses=clauses, mask=one_row
        ),
        case(
            "stress/mask_10000_beside_excluded",
            "A row of a float mask with -10000 at the only key that is not excluded",
        )(sizes, clauses=clauses, mask=beside),
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


LARGE, TINY = BEYOND_FLOAT16.values()
PRECISION = ("sdpa.precision.accumulation",)
PLAIN = Sizes(1, 2, 1, 3, 4, 3, 2)
WITH_PAST = Sizes(1, 2, 1, 3, 4, 3, 2, 2)


def resized(tensors: Mapping[str, NDArray[Any]], **factors: float) -> dict[str, Any]:
    """Multiply some of the tensors by powers of two; return those alone."""
    return {name: tensors[name] * factor for name, factor in factors.items()}


def attention_cases() -> Iterator[AuthoredCase]:
    """Hold queries, keys and values, past ones included, and what is added to scores."""
    case = table(attention, clauses=PRECISION, dtypes=WITHOUT_FLOAT16)
    for size, factor in BEYOND_FLOAT16.items():
        for name, what, sizes, tensors in (
            ("queries", "Queries", PLAIN, ("query",)),
            ("keys", "Keys", PLAIN, ("key",)),
            ("values", "Values", PLAIN, ("value",)),
            ("keys_with_past", "Keys, and keys of the past,", WITH_PAST, ("key", "past_key")),
            ("values_with_past", "Values, and values of the past,", WITH_PAST, ("value", "past_value")),
        ):
            case_id = f"stress/{size}_beyond_float16_{name}"
            yield case(case_id, f"{what} that are too {size} for float16")(
                sizes,
                **({} if "values" in name else {"scale": 0.5 / factor}),
                **resized(sizes.drawn(case_id), **dict.fromkeys(tensors, factor)),
            )
    heights = np.array([1.0, 0.5, 0.25, 0.0]).reshape(1, 1, 4, 1) * 2.0**18
    yield from (
        case("stress/large_beyond_float16_sinks", "A sink too large for float16, as large as the greatest score")(
            Sizes(1, 2, 1, 3, 4, 1, 2),
            also="weights",
            query=np.ones((1, 2, 3, 1)),
            key=heights,
            sinks=[2.0**18, 2.0**17],
            scale=1.0,
        ),
        case(
            "stress/large_beyond_float16_slopes", "An ALiBi slope too large for float16: the nearest key has all weight"
        )(Sizes(1, 2, 1, 4, 4, 3, 2), alibi_slopes=[2.0**18, 0.25]),
    )


def quantized_cases() -> Iterator[AuthoredCase]:
    """Hold scales of quantized tensors."""
    for size, factor in BEYOND_FLOAT16.items():
        for tensor, what in (("key", "keys"), ("value", "values"), ("query", "queries")):
            stated: dict[str, Any] = {f"{tensor}_scale": 0.0117 * factor * 4.0}
            stated |= {} if tensor == "value" else {"scale": 0.5 / factor}
            yield quantized(
                f"{size}_beyond_float16_scale_of_{what}", f"A scale of {what} that is too {size} for float16"
            )(
                Sizes(1, 2, 2, 3, 4, 3, 2),
                clauses="quantized.precision",
                profile="stress",
                dtypes=WITHOUT_FLOAT16,
                **({"query": E4M3} if tensor == "query" else {}),
                **stated,
            )


def layer_cases() -> Iterator[AuthoredCase]:
    """Hold tokens, matrices and biases of attention with projections."""
    matrices = {"x": (3, 4), "w_query": (4, 3), "w_key": (4, 3), "w_value": (4, 2), "w_output": (2, 5)}
    every = ("query", "key", "value")
    projecting = tuple(f"w_{name}" for name in every)
    several: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(every, (1, 3, 4)),
        **dict.fromkeys((*projecting, "w_output"), (4, 4)),
        **dict.fromkeys(("b_query", "b_key", "b_value", "b_output"), (4,)),
    }
    for size, factor in BEYOND_FLOAT16.items():
        one: dict[str, tuple[str, dict[str, float]]] = {
            "tokens": ("tokens, and matrices that make up for them", {"x": factor, **_all_of(projecting, 1 / factor)}),
            "queries": ("a matrix of queries, and one of keys for it", {"w_query": factor, "w_key": 1 / factor}),
            "values": ("a matrix of values, and one of the output for it", {"w_value": factor, "w_output": 1 / factor}),
            "output": ("a matrix of the output", {"w_output": factor}),
        }
        for name, (what, factors) in one.items():
            case_name = f"{size}_beyond_float16_{name}"
            tensors = drawn(f"stress/single_head_{case_name}", matrices)
            yield single_head(case_name, f"too {size} for float16 is {what}")(
                3, (4, 3, 2, 5), profile="stress", dtypes=WITHOUT_FLOAT16, replaced=resized(tensors, **factors)
            )
        layers: dict[str, tuple[str, dict[str, float], tuple[str, ...], dict[str, Any]]] = {
            "tokens": (
                "all tokens, and matrices that make up for them",
                {**_all_of(every, factor), **_all_of(projecting, 1 / factor)},
                (),
                {},
            ),
            "queries_and_values": (
                "matrices and biases of queries and values",
                {**_all_of(("w_query", "b_query", "w_value", "b_value"), factor), "w_output": 1 / factor},
                ("b_query", "b_value"),
                {"scale": 0.5 / factor},
            ),
            "keys_and_output": (
                "matrices and biases of keys and output",
                _all_of(("w_key", "b_key", "w_output", "b_output"), factor),
                ("b_key", "b_output"),
                {"scale": 0.5 / factor},
            ),
        }
        for name, (what, factors, biases, attributes) in layers.items():
            case_name = f"{size}_beyond_float16_{name}"
            yield multi_head(case_name, f"too {size} for float16 are {what}")(
                (1, 3, 3),
                width=4,
                num_heads=2,
                biases=biases,
                profile="stress",
                dtypes=WITHOUT_FLOAT16,
                replaced=resized(drawn(f"stress/multi_head_{case_name}", several), **factors),
                **attributes,
            )


def _all_of(names: tuple[str, ...], factor: float) -> dict[str, float]:
    return dict.fromkeys(names, factor)


def other_cases() -> Iterator[AuthoredCase]:
    """Hold states of a context vector, and heads that are split and combined."""
    states = {"encoder_states": (4, 3), "decoder_state": (3,)}
    for size, factor in BEYOND_FLOAT16.items():
        name = f"{size}_beyond_float16_states"
        tensors = {tensor: 4.0 * array for tensor, array in drawn(f"stress/context_{name}", states).items()}
        yield context(name, f"encoder states too {size} for float16, and a decoder state that makes up for them")(
            4,
            3,
            profile="stress",
            dtypes=WITHOUT_FLOAT16,
            replaced=resized(tensors, encoder_states=factor / 4, decoder_state=1 / factor),
        )
    x = counted((1, 3, 8), 1) * np.array([LARGE, TINY, 1.0])[:, np.newaxis]
    yield from (
        layout("beyond_float16", "numbers too large and too small for float16")(
            x.shape, num_heads=2, x=x, profile="stress", dtypes=WITHOUT_FLOAT16
        ),
        layout("beyond_float16", "numbers too large and too small for float16")(
            (1, 2, 3, 4), x=x.reshape(1, 3, 2, 4).swapaxes(1, 2), profile="stress", dtypes=WITHOUT_FLOAT16
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *softmax_cases(),
        *state_cases(),
        *projected_cases(),
        *product_cases(),
        *mask_cases(),
        *attention_cases(),
        *quantized_cases(),
        *layer_cases(),
        *other_cases(),
    )
