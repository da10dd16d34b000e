"""NaN and infinity in what belongs to a query, beside keys that it may not attend to; and in every other input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients, of_logsumexp
from attnspec_authoring.recipes.attention.backward.nonfinite import spoilt
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

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


def query_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN or an infinity into the gradient of an output: keys that its query may not attend to stay clean."""
    made: list[AuthoredCase] = []
    for exclusion, arguments in EXCLUSIONS.items():
        for word, number in (("nan", np.nan), ("infinity", np.inf)):
            name = f"{word}_in_grad_output_{exclusion}"
            made.append(
                gradients(
                    name,
                    f"The gradient of one output holds {word}, and its query may not attend to all keys: {exclusion}",
                )(SIZES, clauses=_CLAUSES, **arguments, **spoilt(name, SIZES, ("grad_output",), _SECOND, number))
            )
    for exclusion in ("causal", "float"):
        name = f"nan_in_grad_logsumexp_{exclusion}"
        made.append(
            gradients(
                name, f"The gradient of one logsumexp is NaN, and its query may not attend to all keys: {exclusion}"
            )(
                SIZES,
                clauses=_CLAUSES,
                grad_logsumexp=np.where(_SECOND[..., 0], np.nan, of_logsumexp(name, SIZES)),
                **EXCLUSIONS[exclusion],
            )
        )
    return tuple(made)


def key_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN or an infinity into keys and values that some queries may attend to and others may not."""
    third = (np.arange(4) == 2).reshape(1, 1, 4, 1)
    made: list[AuthoredCase] = []
    for exclusion in ("causal", "boolean", "float", "stored"):
        for tensor in ("key", "value"):
            name = f"nan_in_{tensor}_beside_{exclusion}"
            made.append(
                gradients(name, f"NaN in a {tensor} that some queries may not attend to: {exclusion}")(
                    SIZES, **EXCLUSIONS[exclusion], **spoilt(name, SIZES, (tensor,), third, np.nan)
                )
            )
    lengths: dict[str, Any] = {"key_lengths": [2], "query_lengths": [3]}
    beyond = (np.arange(4) >= 2).reshape(1, 1, 4, 1)
    hidden = (np.arange(4) == 3).reshape(1, 1, 4, 1)
    return (
        *made,
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


def stated_padding_cases() -> tuple[AuthoredCase, ...]:
    """State outputs that hold NaN where they do not count; with one key they are its value, and need no derivation."""
    made: list[AuthoredCase] = []
    padding = (np.arange(4) >= 2).reshape(1, 1, 4, 1)
    for word, number in (("nan", np.nan), ("infinity", np.inf)):
        sizes, name = Sizes(1, 2, 2, 4, 1, 2, 3), f"padding_{word}_in_stated_output"
        tensors = spoilt(name, sizes, ("query", "grad_output"), padding, number)
        stated = np.where(padding, number, np.broadcast_to(tensors["value"], (1, 2, 4, 3)))
        made.append(
            gradients(name, f"Queries that do not count hold {word}, and so do their outputs, which are given")(
                sizes, query_lengths=[2], output=stated, **tensors
            )
        )
    return tuple(made)


def one_key_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN into a query or a key beside a single key: its weight is NaN and not 1, and so are the gradients."""
    sizes, second = Sizes(1, 2, 2, 4, 1, 2, 3), (np.arange(2) == 1).reshape(1, 2, 1, 1)
    return tuple(
        gradients(name, f"A {tensor} of one head holds NaN, beside a single key")(
            sizes,
            clauses=("nonfinite_input",),
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
    """Return the cases by place."""
    return (
        *(*query_cases(), *key_cases(), *dead_cases(), *mask_cases(), *padding_cases(), *stated_padding_cases()),
        *one_key_cases(),
    )
