"""Numbers at the ends of what a dtype holds, sums that half precision loses, and what float16 does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN, TOP_LEFT, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import (
    PLAIN,
    SQUARE,
    STORED,
    drawn,
    gradients,
    of_logsumexp,
)
from attnspec_authoring.recipes.attention.backward.numbers import scaled
from attnspec_authoring.recipes.authoring import BEYOND_FLOAT16, SINGLE_AND_DOUBLE, WITHOUT_FLOAT16, row, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

LOWER = (("ten_thousand", -(2.0**14)), ("half_precision", -(2.0**17)), ("million", -(2.0**20)))
"""Below -10,000, below the lowest number of half precision, and below a million: what masks are filled with."""
EXCLUSIONS: Mapping[str, dict[str, Any]] = {
    "boolean": {"mask": np.arange(5).reshape(1, 5) != np.arange(5).reshape(5, 1)},
    "float": {"mask": np.where(np.arange(5).reshape(1, 5) != np.arange(5).reshape(5, 1), 0.25, HIDDEN)},
    "causal": {"is_causal": True},
    "window": {"window": [1, 0]},
    "lengths": {"key_lengths": [3]},
}
_STABLE = ("softmax.stability",)


def finite_cases() -> tuple[AuthoredCase, ...]:
    """Rows whose every logit is lower than what others put for minus infinity."""
    case = table(gradients, sizes=PLAIN, dtypes=SINGLE_AND_DOUBLE, clauses=_STABLE)
    hidden = np.arange(20).reshape(4, 5) % 3 == 1
    steps = 2.0 * (np.arange(20).reshape(4, 5) % 4)
    positive: dict[str, Any] = {"query": np.abs(drawn("backward/far_below_scores", SQUARE)["query"]) + 1.0}
    positive |= {"key": -np.abs(drawn("backward/far_below_scores", SQUARE)["key"]) - 1.0}
    double = ("float64",)
    return (
        *(
            gradients(
                f"lower_mask_{name}_{kind}", f"A float mask lies below {'minus ' + name.replace('_', ' ')}, {what}"
            )(
                PLAIN,
                clauses=_STABLE,
                # The spacing of float32 is an eighth there; beyond it, nothing would be left to grade.
                dtypes=SINGLE_AND_DOUBLE if number > -(2.0**18) else double,
                mask=np.where(hidden, HIDDEN, number + steps) if kind == "hides" else number + steps,
            )
            for name, number in LOWER
            for kind, what in (("hides", "and hides some keys"), ("whole", "and hides none"))
        ),
        gradients("lower_mask_billion", "A float mask lies below minus ten billion, and hides some keys")(
            PLAIN, clauses=_STABLE, dtypes=double, mask=np.where(hidden, HIDDEN, -(2.0**34) + steps)
        ),
        case("lower_mask_one_row", "One row of a float mask lies below minus ten thousand, the others near 0")(
            mask=np.where(np.arange(4).reshape(4, 1) == 2, -(2.0**14), 0.0) + steps
        ),
        case("lower_mask_sinks", "A float mask lies below minus ten thousand, and so does a sink")(
            mask=np.where(hidden, HIDDEN, -(2.0**14) + steps), sinks=[-(2.0**14), 2.0 - 2.0**14]
        ),
        case("higher_mask", "A float mask lies above ten thousand, and hides some keys")(
            mask=np.where(hidden, HIDDEN, 2.0**14 + steps)
        ),
        *(
            gradients(
                f"lower_scores_{name}", f"All scores lie below minus ten thousand, and some keys are hidden: {name}"
            )(SQUARE, clauses=_STABLE, dtypes=double, scale=2.0**14, **positive, **exclusion)
            for name, exclusion in EXCLUSIONS.items()
        ),
        *(
            gradients(f"scale_tiny_{name}", f"A scale near 0 with hidden keys: {name}")(
                SQUARE, scale=2.0**-14, **exclusion
            )
            for name, exclusion in EXCLUSIONS.items()
        ),
        *(
            gradients(f"softcap_hides_{name}", f"A softcap with hidden keys, which no cap brings near: {name}")(
                SQUARE, softcap=2.0, **exclusion
            )
            for name, exclusion in EXCLUSIONS.items()
        ),
    )


def sink_cases() -> tuple[AuthoredCase, ...]:
    """Sinks so far above or below all logits that an exponential of the distance overflows, or is 0."""
    dead = np.broadcast_to(np.arange(4).reshape(4, 1) != 1, (4, 5))
    far = (
        row("above", "Sinks hundreds above all logits")({"sinks": [800.0, 768.0]}),
        row("above_one_head", "The sink of one head lies hundreds above, that of the other near")(
            {"sinks": [0.5, 800.0]}
        ),
        row("below", "Sinks hundreds below all logits")({"sinks": [-800.0, -768.0]}),
        row("apart", "One sink lies hundreds above, the other hundreds below")({"sinks": [800.0, -800.0]}),
        row("above_masked", "A sink hundreds above, and a query without keys")({"sinks": [800.0, 1.0], "mask": dead}),
        row("below_masked", "A sink hundreds below, and a query without keys")({"sinks": [-800.0, 1.0], "mask": dead}),
        row("above_lower_mask", "Sinks near 0, and a float mask hundreds below")(
            {"sinks": [0.5, -1.0], "mask": np.full((1, 5), -800.0)}
        ),
        row("above_alibi", "Sinks near 0, and biases by distance hundreds below")(
            {"sinks": [0.5, -1.0], "alibi_slopes": [512.0, 1024.0], "window": [None, 0], "causal_alignment": TOP_LEFT}
        ),
    )
    return tuple(
        gradients(f"sinks_far_{name}{suffix}", f"{title}{more}")(
            PLAIN, clauses=_STABLE, with_grad_logsumexp=with_grad_logsumexp, **arguments
        )
        for name, title, arguments in far
        for suffix, more, with_grad_logsumexp in (
            ("", "", False),
            ("_grad_logsumexp", ", and a gradient of the logsumexp", True),
        )
        if not with_grad_logsumexp or name in ("above", "above_one_head", "above_masked", "above_lower_mask")
    )


def extremes_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of numbers far apart."""
    sizes = Sizes(1, 1, 1, 3, 4, 1, 1)
    return (
        *finite_cases(),
        *sink_cases(),
        gradients("stored_logsumexp_of_zero", "A logsumexp that is given is exactly 0")(
            sizes,
            derived=("logsumexp",),
            key=np.zeros((1, 1, 4, 1)),
            mask=np.array([[0.0, HIDDEN, HIDDEN, HIDDEN], [HIDDEN, 0.0, HIDDEN, HIDDEN], [0.0, 0.5, 0.25, -0.5]]),
            with_grad_logsumexp=True,
        ),
        gradients(
            "stored_largest_weight_small", "The weights beside a sink that takes nearly everything, and both are given"
        )(PLAIN, derived=STORED, dtypes=SINGLE_AND_DOUBLE, sinks=[24.0, 48.0], with_grad_logsumexp=True),
    )


def sums_in_half_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases."""
    opposed = np.array([40960.0, 36864.0, -40960.0, -32768.0])
    return (
        gradients("group_beyond_float16", "Gradients of four heads of a group that exceed float16 until all are added")(
            Sizes(1, 4, 1, 1, 1, 1, 1), clauses="grad_value", grad_output=opposed.reshape(1, 4, 1, 1)
        ),
        gradients("group_beyond_float16_two_keys", "The same with two keys, the second of which has hardly any weight")(
            Sizes(1, 4, 1, 1, 2, 1, 1),
            clauses="grad_value",
            grad_output=opposed.reshape(1, 4, 1, 1),
            query=np.ones((1, 4, 1, 1)),
            key=np.array([[[[8.0], [-8.0]]]]),
            value=np.array([[[[0.5], [0.25]]]]),
            scale=1.0,
        ),
        gradients("group_of_300", "Gradients of 300 heads of a group, where bfloat16 stops counting at 256")(
            Sizes(1, 300, 1, 1, 1, 1, 1), clauses="grad_value", grad_output=np.ones((1, 300, 1, 1))
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


PLAIN_BEYOND = Sizes(1, 2, 1, 3, 4, 3, 2)


def beyond_float16_cases() -> Iterator[AuthoredCase]:
    """Return the cases; a scale makes up for queries and keys, so that scores stay ordinary."""
    for size, factor in BEYOND_FLOAT16.items():
        for tensor, what, derived in (
            ("grad_output", "a gradient of the output", ()),
            ("query", "queries", ()),
            ("key", "keys", ()),
            ("value", "values", ()),
            ("value", "values and an output", STORED),
        ):
            name = f"{size}_beyond_float16_{tensor}{'_stored' if derived else ''}"
            yield gradients(name, f"{what} too {size} for float16")(
                PLAIN_BEYOND,
                clauses="precision.accumulation",
                dtypes=WITHOUT_FLOAT16,
                derived=derived,
                **({"scale": 0.5 / factor} if tensor in ("query", "key") else {}),
                **scaled(name, PLAIN_BEYOND, **{tensor: factor}),
            )
        name = f"{size}_beyond_float16_grad_logsumexp"
        yield gradients(name, f"gradients of output and logsumexp too {size} for float16")(
            PLAIN_BEYOND,
            clauses="precision.accumulation",
            dtypes=WITHOUT_FLOAT16,
            grad_logsumexp=factor * of_logsumexp(f"backward/{name}", PLAIN_BEYOND),
            **scaled(name, PLAIN_BEYOND, grad_output=factor),
        )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*extremes_cases(), *sums_in_half_cases(), *beyond_float16_cases())
