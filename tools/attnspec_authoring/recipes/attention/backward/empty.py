"""Rows without keys, and tensors without tokens or features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    HIDDEN,
    TOP,
    TOP_LEFT,
    Sizes,
)
from attnspec_authoring.recipes.attention.backward.gradients import (
    BATCH,
    PLAIN,
    STEPS,
    STORED,
    drawn,
    gradients,
    of_logsumexp,
)
from attnspec_authoring.recipes.attention.stress.extents import alignment_of, lengths_of, mask_and_sinks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

SINKS = np.array([0.5, -1.25])
LENGTHS: dict[str, Any] = {"key_lengths": [5, 2, 3], "query_lengths": [4, 1, 3]}


def length_cases() -> tuple[AuthoredCase, ...]:
    """Sequences of different lengths, also of none."""
    causal: dict[str, Any] = {"is_causal": True}
    return (
        gradients("key_lengths", "Key lengths")(BATCH, key_lengths=[5, 2, 3]),
        gradients("key_lengths_of_none", "One batch entry has no keys")(BATCH, key_lengths=[5, 0, 3]),
        gradients("query_lengths", "Query lengths")(BATCH, query_lengths=[4, 1, 3]),
        gradients("query_lengths_of_none", "One batch entry has no queries")(BATCH, query_lengths=[4, 0, 3]),
        gradients("lengths", "Lengths of keys and queries")(BATCH, outputs=("delta",), **LENGTHS),
        *(
            gradients(f"lengths_causal_{alignment}", f"Lengths and causality, {alignment}")(
                BATCH, causal_alignment=alignment, **causal, **LENGTHS
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        gradients("lengths_window_bottom", "Lengths and a window, bottom-right")(
            BATCH, window=[1, 0], **BOTTOM, **LENGTHS
        ),
        gradients("lengths_sinks", "Queries beyond their length have no part in the gradient of a sink")(
            BATCH, sinks=SINKS, with_grad_logsumexp=True, **LENGTHS
        ),
        gradients("lengths_grouped", "Lengths and shared heads")(Sizes(3, 6, 2, 4, 5, 1, 1), **LENGTHS),
        gradients("lengths_alibi_bottom", "Lengths and biases by distance, bottom-right")(
            BATCH, alibi_slopes=[0.25, 1.5], **BOTTOM, **LENGTHS
        ),
    )


def dead_cases() -> Iterator[AuthoredCase]:
    """Leave queries no key."""
    middle, none = (np.arange(4) != 1)[:, np.newaxis], np.zeros((4, 5), np.bool_)
    boolean = np.broadcast_to(middle, (4, 5))
    floats = np.where(boolean, 0.5, HIDDEN)
    for kind, mask in (("boolean", boolean), ("float", floats)):
        yield from (
            gradients(f"dead_{kind}", f"A {kind} mask leaves one query no key")(PLAIN, mask=mask),
            gradients(
                f"dead_{kind}_grad_logsumexp",
                f"A {kind} mask leaves one query no key, and its logsumexp has a gradient",
            )(PLAIN, mask=mask, with_grad_logsumexp=True),
            gradients(f"dead_{kind}_sinks", f"A {kind} mask leaves one query nothing but a sink")(
                PLAIN, mask=mask, sinks=SINKS, outputs=STEPS, with_grad_logsumexp=True
            ),
        )
    yield from (
        gradients("dead_everything", "No query may attend to a key")(PLAIN, mask=none),
        gradients("dead_everything_sinks", "No query may attend to a key, and all have a sink")(
            PLAIN, mask=none, sinks=SINKS, with_grad_logsumexp=True
        ),
        gradients("dead_grouped", "One query of one head has no key, and shares its key head with others")(
            Sizes(1, 6, 2, 4, 5, 2, 1), mask=(np.arange(24) != 9).reshape(6, 4, 1) & np.ones((6, 4, 5), np.bool_)
        ),
        gradients("dead_before_the_keys", "Causality leaves the first queries no key, and all they have is a sink")(
            Sizes(1, 2, 2, 6, 4, 3, 2), **BOTTOM_CAUSAL, sinks=SINKS, with_grad_logsumexp=True
        ),
        gradients("dead_beyond_the_window", "A window ends before the keys begin")(
            Sizes(1, 2, 2, 6, 3, 3, 2), window=[1, 1], **TOP, derived=STORED
        ),
    )


def no_axis_cases() -> tuple[AuthoredCase, ...]:
    """Axes of length zero."""
    no_keys = Sizes(1, 2, 2, 4, 0, 3, 2)
    return (
        gradients("no_keys", "No keys at all")(no_keys),
        gradients("no_keys_sinks", "No keys at all, but sinks")(no_keys, sinks=SINKS, with_grad_logsumexp=True),
        gradients("no_queries", "No queries at all")(Sizes(1, 2, 2, 0, 5, 3, 2), clauses="grad_key grad_value"),
        gradients("no_queries_mask", "No queries at all, and a float mask")(
            Sizes(3, 2, 2, 0, 5, 3, 2), clauses="grad_key grad_value", mask=np.zeros((2, 1, 5))
        ),
        gradients("no_batch", "A batch without entries")(Sizes(0, 2, 2, 4, 5, 3, 2), clauses="grad_query"),
    )


def garbage_cases() -> tuple[AuthoredCase, ...]:
    """Numbers that must not be read: far beyond all others, in padding and in excluded entries."""
    name = "backward/padding_large"
    tensors = drawn(name, BATCH)
    keys = np.arange(5) >= np.array([5, 2, 3])[:, np.newaxis]
    queries = np.arange(4) >= np.array([4, 1, 3])[:, np.newaxis]
    for tensor in ("key", "value"):
        tensors[tensor] = np.where(keys[:, np.newaxis, :, np.newaxis], 4096.0, tensors[tensor])
    for tensor in ("query", "grad_output"):
        tensors[tensor] = np.where(queries[:, np.newaxis, :, np.newaxis], 512.0, tensors[tensor])
    tensors["grad_logsumexp"] = np.where(queries[:, np.newaxis], 512.0, of_logsumexp(name, BATCH))
    dead = {**drawn("backward/dead_large", PLAIN)}
    dead["grad_output"] = np.where((np.arange(4) == 1)[:, np.newaxis], 4096.0, dead["grad_output"])
    return (
        gradients("padding_large", "Padding holds large numbers")(BATCH, sinks=SINKS, **LENGTHS, **tensors),
        gradients("padding_large_stored", "Padding holds large numbers, and output and logsumexp are given")(
            BATCH, derived=STORED, **LENGTHS, **tensors
        ),
        gradients("dead_large", "The query without keys has a large gradient")(
            PLAIN, mask=np.broadcast_to((np.arange(4) != 1)[:, np.newaxis], (4, 5)), **dead
        ),
    )


WITHOUT: Mapping[str, tuple[str, Sizes]] = {
    "no_batch_entries": ("no batch entry", Sizes(0, 2, 1, 3, 4, 2)),
    "no_queries_of_two": ("no query", Sizes(2, 4, 1, 0, 3, 2)),
    "no_heads": ("no head", Sizes(2, 0, 0, 3, 4, 2)),
}


def features_of(sizes: Sizes) -> Mapping[str, dict[str, Any]]:
    """Return each feature with inputs that are as long as what there is none of."""
    return {
        **lengths_of(sizes),
        **mask_and_sinks_of(sizes),
        "alibi": {**alignment_of(sizes), "alibi_slopes": np.full(sizes.heads, 0.25)},
        "stored": {"derived": STORED},
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *length_cases(),
        *dead_cases(),
        *no_axis_cases(),
        *garbage_cases(),
        # Return the cases of each feature.
        *(
            gradients(f"{name}_{feature}", f"there is {what}, beside {feature.replace('_', ' ')}")(sizes, **arguments)
            for name, (what, sizes) in WITHOUT.items()
            for feature, arguments in features_of(sizes).items()
        ),
    )
