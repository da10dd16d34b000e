"""NaN and infinity: excluded, in padding, and attended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, Sizes
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

LENGTHS: dict[str, Any] = {"key_lengths": [5, 2, 3], "query_lengths": [4, 1, 3]}


def spoilt(
    name: str, sizes: Sizes, tensors: tuple[str, ...], where: NDArray[np.bool_], number: float
) -> dict[str, Any]:
    """Draw tensors and put a number into some of them, at tokens that broadcast to (B, H, S, 1)."""
    made = drawn(f"backward/{name}", sizes)
    return {tensor: np.where(where, number, array) if tensor in tensors else array for tensor, array in made.items()}


def excluded_cases() -> tuple[AuthoredCase, ...]:
    """Keys and values that no query may attend to, and queries that do not count."""
    second = (np.arange(5) == 2)[:, np.newaxis]
    visible = np.arange(5).reshape(1, 5) != 2
    last = (np.arange(5) == 4)[:, np.newaxis]
    beyond = np.arange(5).reshape(1, 1, 5, 1) >= np.array([5, 2, 3]).reshape(3, 1, 1, 1)
    padding = np.arange(4).reshape(1, 1, 4, 1) >= np.array([4, 1, 3]).reshape(3, 1, 1, 1)
    both = ("key", "value")
    made: list[AuthoredCase] = []
    for word, number in (("nan", np.nan), ("infinity", np.inf)):
        made += [
            gradients(f"hidden_{word}_boolean", f"A Boolean mask hides {word} in a key and its value")(
                PLAIN, mask=visible, **spoilt(f"hidden_{word}_boolean", PLAIN, both, second, number)
            ),
            gradients(f"hidden_{word}_float", f"A float mask hides {word} in a key and its value")(
                PLAIN,
                mask=np.where(visible, 0.25, HIDDEN),
                **spoilt(f"hidden_{word}_float", PLAIN, both, second, number),
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
        ]
    return (
        *made,
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
        gradients("hidden_nan_stored", "A mask hides NaN in a key and its value, and output and logsumexp are given")(
            PLAIN, mask=visible, derived=STORED, **spoilt("hidden_nan_stored", PLAIN, both, second, np.nan)
        ),
        gradients("causal_nan_future", "Causality hides NaN in the last key from all queries")(
            PLAIN, is_causal=True, causal_alignment="top_left", **spoilt("causal_nan_future", PLAIN, both, last, np.nan)
        ),
        gradients("window_nan_past", "A window leaves NaN behind in the first key")(
            PLAIN,
            window=[0, None],
            causal_alignment=BOTTOM_RIGHT,
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


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases with NaN and infinity."""
    return (*excluded_cases(), *attended_cases())
