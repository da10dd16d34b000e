"""NaN and infinity: in each input, attended or excluded, in queries with and without exclusions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM, BOTTOM_RIGHT, HIDDEN, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import (
    BATCH,
    GROUPED,
    PLAIN,
    SQUARE,
    STORED,
    drawn,
    gradients,
    of_logsumexp,
)
from attnspec_authoring.recipes.authoring import row, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

LENGTHS: dict[str, Any] = {"key_lengths": [5, 2, 3], "query_lengths": [4, 1, 3]}


def spoilt(
    name: str, sizes: Sizes, tensors: tuple[str, ...], where: NDArray[np.bool_], number: float
) -> dict[str, Any]:
    """Draw tensors and put a number into some of them, at tokens that broadcast to (B, H, S, 1)."""
    made = drawn(f"backward/{name}", sizes)
    return {tensor: np.where(where, number, array) if tensor in tensors else array for tensor, array in made.items()}


def excluded_cases() -> Iterator[AuthoredCase]:
    """Keys and values that no query may attend to, and queries that do not count."""
    case = table(gradients, sizes=PLAIN)
    second = (np.arange(5) == 2)[:, np.newaxis]
    visible = np.arange(5).reshape(1, 5) != 2
    last = (np.arange(5) == 4)[:, np.newaxis]
    beyond = np.arange(5).reshape(1, 1, 5, 1) >= np.array([5, 2, 3]).reshape(3, 1, 1, 1)
    padding = np.arange(4).reshape(1, 1, 4, 1) >= np.array([4, 1, 3]).reshape(3, 1, 1, 1)
    both = ("key", "value")
    for word, number in (("nan", np.nan), ("infinity", np.inf)):
        yield from (
            case(f"hidden_{word}_boolean", f"A Boolean mask hides {word} in a key and its value")(
                mask=visible, **spoilt(f"hidden_{word}_boolean", PLAIN, both, second, number)
            ),
            case(f"hidden_{word}_float", f"A float mask hides {word} in a key and its value")(
                mask=np.where(visible, 0.25, HIDDEN), **spoilt(f"hidden_{word}_float", PLAIN, both, second, number)
            ),
            gradients(f"beyond_{word}_lengths", f"Keys and values beyond the key lengths hold {word}")(
                BATCH, key_lengths=[5, 2, 3], **spoilt(f"beyond_{word}_lengths", BATCH, both, beyond, number)
            ),
            gradients(f"padding_{word}", f"Queries beyond their lengths and their gradients hold {word}")(
                BATCH,
                query_lengths=[4, 1, 3],
                grad_logsumexp=np.where(padding[..., 0], number, of_logsumexp(f"padding_{word}", BATCH)),
                **spoilt(f"padding_{word}", BATCH, ("query", "grad_output"), padding, number),
            ),
        )
    yield from (
        gradients("padding_nan_stored", "All that does not count is NaN, also in what the forward pass stored")(
            BATCH,
            **LENGTHS,
            **spoilt("padding_nan_stored", BATCH, ("query", "grad_output"), padding, np.nan),
            derived=("logsumexp",),
            sinks=[0.5, -1.25],
        ),
        gradients("hidden_nan_value_alone", "A mask hides NaN in a value alone")(
            GROUPED, mask=visible, **spoilt("hidden_nan_value_alone", GROUPED, ("value",), second, np.nan)
        ),
        case("hidden_nan_stored", "A mask hides NaN in a key and its value, and output and logsumexp are given")(
            mask=visible, derived=STORED, **spoilt("hidden_nan_stored", PLAIN, both, second, np.nan)
        ),
        case("causal_nan_future", "Causality hides NaN in the last key from all queries")(
            is_causal=True, causal_alignment="top_left", **spoilt("causal_nan_future", PLAIN, both, last, np.nan)
        ),
        case("window_nan_past", "A window leaves NaN behind in the first key")(
            window=[0, None],
            **BOTTOM,
            **spoilt("window_nan_past", PLAIN, both, (np.arange(5) == 0)[:, np.newaxis], np.nan),
        ),
    )


def attended_cases() -> tuple[AuthoredCase, ...]:
    """NaN in one head: it reaches what depends on it, and nothing else."""
    first_head = (np.arange(2) == 0).reshape(1, 2, 1, 1)
    of_query, of_key = (np.arange(length).reshape(1, 1, length, 1) == 2 for length in (4, 5))
    rows = {"query": of_query, "grad_output": of_query, "key": of_key, "value": of_key}
    return (
        *(
            gradients(
                f"nan_in_{tensor}",
                f"NaN in the {tensor.replace('_', ' of the ').replace('grad', 'gradient')} of one head",
            )(PLAIN, **spoilt(f"nan_in_{tensor}", PLAIN, (tensor,), first_head & where, np.nan))
            for tensor, where in rows.items()
        ),
        gradients("nan_in_key_causal", "NaN in a key that the first queries may not attend to")(
            SQUARE, is_causal=True, **spoilt("nan_in_key_causal", SQUARE, ("value",), first_head & of_key, np.nan)
        ),
        gradients("nan_in_grad_logsumexp", "NaN in the gradient of one logsumexp")(
            PLAIN,
            grad_logsumexp=np.where(
                (first_head & of_query)[..., 0], np.nan, of_logsumexp("nan_in_grad_logsumexp", PLAIN)
            ),
        ),
        gradients("nan_in_sinks", "NaN in one of two sinks")(PLAIN, sinks=[np.nan, 0.5]),
        gradients("nan_in_one_query_head", "NaN in one query head reaches the key head that it shares")(
            GROUPED,
            **spoilt(
                "nan_in_one_query_head",
                GROUPED,
                ("grad_output",),
                (np.arange(6) == 1).reshape(1, 6, 1, 1) & of_query,
                np.nan,
            ),
        ),
    )


SIZES = Sizes(1, 2, 2, 4, 4, 2, 1)
MASK = np.arange(4).reshape(4, 1) >= np.arange(4)
EXCLUSIONS: Mapping[str, dict[str, Any]] = {
    "causal": {"is_causal": True},
    "window": {"window": [1, 1]},
    "boolean": {"mask": MASK},
    "float": {"mask": np.where(MASK, 0.25, HIDDEN)},
    "lengths": {"key_lengths": [2]},
    "stored": {"is_causal": True, "derived": STORED},
    "sinks": {"mask": MASK, "sinks": [0.5, -1.25]},
}
"""Ways to leave the second query some keys; what follows it may attend to them."""
_SECOND = (np.arange(4) == 1).reshape(1, 1, 4, 1)
_CLAUSES = ("masked_nonfinite", "excluded")


def query_cases() -> Iterator[AuthoredCase]:
    """Put NaN or an infinity into the gradient of an output: keys that its query may not attend to stay clean."""
    for exclusion, arguments in EXCLUSIONS.items():
        for word, number in (("nan", np.nan), ("infinity", np.inf)):
            name = f"{word}_in_grad_output_{exclusion}"
            case = gradients(
                name, f"The gradient of one output holds {word}, and its query may not attend to all keys: {exclusion}"
            )(SIZES, clauses=_CLAUSES, **arguments, **spoilt(name, SIZES, ("grad_output",), _SECOND, number))
            # The gradients of the values were NaN, where the formula says infinity.
            yield replace(case, revision=2) if word == "infinity" else case
    for exclusion in ("causal", "float"):
        name = f"nan_in_grad_logsumexp_{exclusion}"
        yield gradients(
            name, f"The gradient of one logsumexp is NaN, and its query may not attend to all keys: {exclusion}"
        )(
            SIZES,
            clauses=_CLAUSES,
            grad_logsumexp=np.where(_SECOND[..., 0], np.nan, of_logsumexp(name, SIZES)),
            **EXCLUSIONS[exclusion],
        )


def key_cases() -> Iterator[AuthoredCase]:
    """Put NaN or an infinity into keys and values that some queries may attend to and others may not."""
    third = (np.arange(4) == 2).reshape(1, 1, 4, 1)
    for exclusion in ("causal", "boolean", "float", "stored"):
        for tensor in ("key", "value"):
            name = f"nan_in_{tensor}_beside_{exclusion}"
            yield gradients(name, f"NaN in a {tensor} that some queries may not attend to: {exclusion}")(
                SIZES, **EXCLUSIONS[exclusion], **spoilt(name, SIZES, (tensor,), third, np.nan)
            )
    lengths: dict[str, Any] = {"key_lengths": [2], "query_lengths": [3]}
    beyond = (np.arange(4) >= 2).reshape(1, 1, 4, 1)
    hidden = (np.arange(4) == 3).reshape(1, 1, 4, 1)
    yield from (
        *(
            gradients(
                f"hidden_nan_beside_{name}", f"NaN in keys and values that no query may attend to, beside {what}"
            )(SIZES, **arguments, **spoilt(f"hidden_nan_beside_{name}", SIZES, ("key", "value"), where, np.nan))
            for name, what, where, arguments in (
                row("softcap", "a softcap")(hidden, {"mask": np.arange(4).reshape(1, 4) != 3, "softcap": 1.5}),
                row("alibi", "biases by distance")(
                    hidden, {"mask": np.arange(4).reshape(1, 4) != 3, "alibi_slopes": [0.5, 0.25]}
                ),
                row("scale_zero", "a scale of 0")(hidden, {"mask": np.arange(4).reshape(1, 4) != 3, "scale": 0.0}),
                row("lengths", "lengths, bottom-right")(
                    beyond, {**lengths, "window": [0, None], "causal_alignment": BOTTOM_RIGHT}
                ),
                row("logsumexp", "a gradient of the logsumexp and sinks")(
                    beyond, {**lengths, "with_grad_logsumexp": True, "sinks": [0.5, 1.0]}
                ),
                row("stored", "output and logsumexp")(beyond, {**lengths, "derived": STORED}),
            )
        ),
    )


def dead_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN into the gradient of a query that may attend to no key, and into padding that is stored."""
    dead = np.broadcast_to(np.arange(4).reshape(4, 1) != 1, (4, 4))
    name = "nan_in_grad_output_dead"
    return (
        gradients(name, "The gradient of a query without keys is NaN")(
            SIZES, clauses=_CLAUSES, mask=dead, **spoilt(name, SIZES, ("grad_output",), _SECOND, np.nan)
        ),
        gradients(f"{name}_float", "The gradient of a query that a float mask leaves no key is NaN")(
            SIZES,
            clauses=_CLAUSES,
            mask=np.where(dead, 0.5, HIDDEN),
            **spoilt(f"{name}_float", SIZES, ("grad_output",), _SECOND, np.nan),
        ),
    )


def mask_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN into a float mask: its queries, and the keys and values that they attend to, become NaN."""
    one = np.where((np.arange(4).reshape(4, 1) == 1) & (np.arange(4) == 2), np.nan, 0.25)
    lower = np.where(MASK, 0.25, HIDDEN)
    masks: tuple[tuple[str, str, NDArray[Any], dict[str, Any]], ...] = (
        ("alone", "at one query and key", one, {}),
        ("hiding", "beside minus infinity", np.where(np.eye(4) * np.arange(4) == 1, np.nan, lower), {}),
        ("stored", "output and logsumexp are given", one, {"derived": STORED}),
        ("of_a_head", "at one head", np.stack([np.full((4, 4), 0.5), one]), {}),
        ("sinks", "beside sinks", one, {"sinks": [0.5, -1.25]}),
    )
    return tuple(
        gradients(f"nan_in_float_mask_{name}", f"NaN in a float mask: {what}")(SIZES, mask=mask, **arguments)
        for name, what, mask, arguments in masks
    )


def padding_cases() -> tuple[AuthoredCase, ...]:
    """Let what the forward pass stored for queries that do not count be NaN, and all else that belongs to them."""
    lengths: dict[str, Any] = {"query_lengths": [2]}
    bottom = {"causal_alignment": BOTTOM_RIGHT}
    padding = (np.arange(4) >= 2).reshape(1, 1, 4, 1)
    return tuple(
        gradients(
            f"padding_nan_{name}", f"Queries that do not count hold NaN, and so does what was stored of them: {what}"
        )(
            SIZES,
            derived=derived,
            **lengths,
            **arguments,
            **spoilt(f"padding_nan_{name}", SIZES, ("query", "grad_output"), padding, np.nan),
        )
        for name, what, derived, arguments in (
            ("output", "the output", ("output",), {}),
            ("both", "output and logsumexp", STORED, {}),
            ("both_causal", "output and logsumexp, causal", STORED, {"is_causal": True, **bottom}),
        )
    )


def stated_padding_cases() -> Iterator[AuthoredCase]:
    """State outputs that hold NaN where they do not count; with one key they are its value, and need no derivation."""
    padding = (np.arange(4) >= 2).reshape(1, 1, 4, 1)
    for word, number in (("nan", np.nan), ("infinity", np.inf)):
        sizes, name = Sizes(1, 2, 2, 4, 1, 2, 3), f"padding_{word}_in_stated_output"
        tensors = spoilt(name, sizes, ("query", "grad_output"), padding, number)
        stated = np.where(padding, number, np.broadcast_to(tensors["value"], (1, 2, 4, 3)))
        yield gradients(name, f"Queries that do not count hold {word}, and so do their outputs, which are given")(
            sizes, query_lengths=[2], output=stated, **tensors
        )


def one_key_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN into a query or a key beside a single key: its weight is NaN and not 1, and so are the gradients."""
    sizes, second = Sizes(1, 2, 2, 4, 1, 2, 3), (np.arange(2) == 1).reshape(1, 2, 1, 1)
    return tuple(
        gradients(name, f"A {tensor} of one head holds NaN, beside a single key")(
            sizes,
            clauses="nonfinite_input",
            **spoilt(
                name,
                sizes,
                (tensor,),
                second if tensor == "key" else second & (np.arange(4) == 2).reshape(4, 1),
                np.nan,
            ),
        )
        for tensor in ("query", "key")
        for name in (f"nan_in_{tensor}_of_one_key",)
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *excluded_cases(),
        *attended_cases(),
        # Return the cases by position.
        *(*query_cases(), *key_cases(), *dead_cases(), *mask_cases(), *padding_cases(), *stated_padding_cases()),
        *one_key_cases(),
    )
