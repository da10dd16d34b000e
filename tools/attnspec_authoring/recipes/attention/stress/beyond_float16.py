"""Numbers that bfloat16 and float32 hold and float16 does not: far beyond its largest one, and far below its smallest.

Who reads bfloat16 by way of float16 keeps all digits of ordinary numbers, and loses these alone. What is so large or so
small in one input is made up for by another, so that scores stay ordinary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention
from attnspec_authoring.recipes.attention.layout.heads import counted, layout
from attnspec_authoring.recipes.attention.layout.projections import drawn, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import context
from attnspec_authoring.recipes.attention.quantized.numbers import E4M3, quantized
from attnspec_authoring.recipes.authoring import BEYOND_FLOAT16, WITHOUT_FLOAT16

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

LARGE, TINY = BEYOND_FLOAT16.values()
PRECISION = ("sdpa.precision.accumulation",)
PLAIN = Sizes(1, 2, 1, 3, 4, 3, 2)
WITH_PAST = Sizes(1, 2, 1, 3, 4, 3, 2, 2)


def resized(tensors: Mapping[str, NDArray[Any]], **factors: float) -> dict[str, Any]:
    """Multiply some of the tensors by powers of two; return those alone."""
    return {name: tensors[name] * factor for name, factor in factors.items()}


def attention_cases() -> tuple[AuthoredCase, ...]:
    """Hold queries, keys and values, past ones included, and what is added to scores."""
    made: list[AuthoredCase] = []
    for size, factor in BEYOND_FLOAT16.items():
        for name, what, sizes, tensors in (
            ("queries", "Queries", PLAIN, ("query",)),
            ("keys", "Keys", PLAIN, ("key",)),
            ("values", "Values", PLAIN, ("value",)),
            ("keys_with_past", "Keys, and keys of the past,", WITH_PAST, ("key", "past_key")),
            ("values_with_past", "Values, and values of the past,", WITH_PAST, ("value", "past_value")),
        ):
            case_id = f"stress/{size}_beyond_float16_{name}"
            made.append(
                attention(case_id, f"{what} that are too {size} for float16")(
                    sizes,
                    clauses=PRECISION,
                    dtypes=WITHOUT_FLOAT16,
                    **({} if "values" in name else {"scale": 0.5 / factor}),
                    **resized(sizes.drawn(case_id), **dict.fromkeys(tensors, factor)),
                )
            )
    heights = np.array([1.0, 0.5, 0.25, 0.0]).reshape(1, 1, 4, 1) * 2.0**18
    return (
        *made,
        attention("stress/large_beyond_float16_sinks", "A sink too large for float16, as large as the greatest score")(
            Sizes(1, 2, 1, 3, 4, 1, 2),
            clauses=PRECISION,
            dtypes=WITHOUT_FLOAT16,
            outputs=("output", "weights"),
            query=np.ones((1, 2, 3, 1)),
            key=heights,
            sinks=[2.0**18, 2.0**17],
            scale=1.0,
        ),
        attention(
            "stress/large_beyond_float16_slopes", "An ALiBi slope too large for float16: the nearest key has all weight"
        )(Sizes(1, 2, 1, 4, 4, 3, 2), clauses=PRECISION, dtypes=WITHOUT_FLOAT16, alibi_slopes=[2.0**18, 0.25]),
    )


def quantized_cases() -> tuple[AuthoredCase, ...]:
    """Hold scales of quantized tensors."""
    made: list[AuthoredCase] = []
    for size, factor in BEYOND_FLOAT16.items():
        for tensor, what in (("key", "keys"), ("value", "values"), ("query", "queries")):
            stated: dict[str, Any] = {f"{tensor}_scale": 0.0117 * factor * 4.0}
            stated |= {} if tensor == "value" else {"scale": 0.5 / factor}
            made.append(
                quantized(
                    f"{size}_beyond_float16_scale_of_{what}", f"A scale of {what} that is too {size} for float16"
                )(
                    Sizes(1, 2, 2, 3, 4, 3, 2),
                    clauses=("sdpa.quantized.precision",),
                    profile="stress",
                    dtypes=WITHOUT_FLOAT16,
                    **({"query": E4M3} if tensor == "query" else {}),
                    **stated,
                )
            )
    return tuple(made)


def layer_cases() -> tuple[AuthoredCase, ...]:
    """Hold tokens, matrices and biases of attention with projections."""
    made: list[AuthoredCase] = []
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
            made.append(
                single_head(case_name, f"too {size} for float16 is {what}")(
                    3, (4, 3, 2, 5), profile="stress", dtypes=WITHOUT_FLOAT16, replaced=resized(tensors, **factors)
                )
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
            made.append(
                multi_head(case_name, f"too {size} for float16 are {what}")(
                    (1, 3, 3),
                    width=4,
                    num_heads=2,
                    biases=biases,
                    profile="stress",
                    dtypes=WITHOUT_FLOAT16,
                    replaced=resized(drawn(f"stress/multi_head_{case_name}", several), **factors),
                    **attributes,
                )
            )
    return tuple(made)


def _all_of(names: tuple[str, ...], factor: float) -> dict[str, float]:
    return dict.fromkeys(names, factor)


def other_cases() -> tuple[AuthoredCase, ...]:
    """Hold states of a context vector, and heads that are split and combined."""
    states = {"encoder_states": (4, 3), "decoder_state": (3,)}
    made: list[AuthoredCase] = []
    for size, factor in BEYOND_FLOAT16.items():
        name = f"{size}_beyond_float16_states"
        tensors = {tensor: 4.0 * array for tensor, array in drawn(f"stress/context_{name}", states).items()}
        made.append(
            context(name, f"encoder states too {size} for float16, and a decoder state that makes up for them")(
                4,
                3,
                profile="stress",
                dtypes=WITHOUT_FLOAT16,
                replaced=resized(tensors, encoder_states=factor / 4, decoder_state=1 / factor),
            )
        )
    x = counted((1, 3, 8), 1) * np.array([LARGE, TINY, 1.0])[:, np.newaxis]
    return (
        *made,
        layout("beyond_float16", "numbers too large and too small for float16")(
            x.shape, num_heads=2, x=x, profile="stress", dtypes=WITHOUT_FLOAT16
        ),
        layout("beyond_float16", "numbers too large and too small for float16")(
            (1, 2, 3, 4), x=x.reshape(1, 3, 2, 4).swapaxes(1, 2), profile="stress", dtypes=WITHOUT_FLOAT16
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of numbers beyond float16."""
    return (*attention_cases(), *quantized_cases(), *layer_cases(), *other_cases())
