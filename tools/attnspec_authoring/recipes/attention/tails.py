"""Profile tails: lengths at and around the tiles in which kernels work, and those that a byte does not count.

The last key wins, or every score is negative. What fills up the last tile scores zero as a rule; it shows where zero is
more than the true scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    float_mask,
)
from attnspec_authoring.recipes.attention.far_positions import far_cases
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

LENGTHS = (1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257)
QUERY_LENGTHS = (17, 33, 64, 65, 129)
REPORTS = {
    17: "https://github.com/microsoft/onnxruntime/pull/26715",
    33: "https://github.com/tenstorrent/tt-metal/issues/54833",
    63: "https://github.com/thu-ml/SageAttention/pull/377",
    129: "https://github.com/tenstorrent/tt-metal/issues/56171",
}


def width_for(length: int) -> int:
    """Return fewer features for longer cases, which keeps their files small."""
    return 3 if length <= 17 else 2 if length <= 65 else 1


def winner_last(name: str, sizes: Sizes) -> dict[str, Any]:
    """Make the last key score higher than the others."""
    tensors = sizes.drawn(name)
    tensors["query"] = np.abs(tensors["query"]) / 2.0 + 0.5
    key = tensors["key"] / 4.0
    key[:, :, -1] = 3.0
    return {**tensors, "key": key}


def all_negative(name: str, sizes: Sizes) -> dict[str, Any]:
    """Make every score negative, that of the last key least so."""
    tensors = sizes.drawn(name)
    tensors["query"] = np.abs(tensors["query"]) / 2.0 + 0.5
    key = -np.abs(tensors["key"]) / 2.0 - 0.5
    key[:, :, -1] = -0.125
    return {**tensors, "key": key}


def key_cases() -> tuple[AuthoredCase, ...]:
    """Hold every length of keys; those that leave most of the last tile unfilled twice."""
    made: list[AuthoredCase] = []
    for length in LENGTHS:
        shared = 1 if length > 17 else 2
        sizes = Sizes(1, 2, shared, 3, length, width_for(length)) if length > 1 else Sizes(3, 2, 2, 4, 1)
        words = f"{length} keys" if length > 1 else "One key"
        for kind, make, what, url in (
            ("winner_last", winner_last, "the last one wins", REPORTS.get(length)),
            ("all_negative", all_negative, "all scores are negative, the last one least", None),
        ):
            if kind == "all_negative" and length % 16 in (0, 15):
                continue
            name = f"tails/keys_{length}_{kind}"
            made.append(
                attention(name, f"{words}: {what}")(
                    sizes, clauses=("sdpa.softmax.keys", "sdpa.output"), url=url, **make(name, sizes)
                )
            )
    return tuple(made)


def decoding_cases() -> tuple[AuthoredCase, ...]:
    """Hold one query against keys that fill their tiles to the last place, with a past and without."""
    made: list[AuthoredCase] = []
    for length in (8, 16, 32, 64):
        name, sizes = f"tails/decode_{length}", Sizes(2, 3, 1, 1, length, 1)
        url = "https://github.com/microsoft/onnxruntime/pull/26715" if length == 16 else None
        made.append(attention(name, f"One query against {length} keys")(sizes, url=url, **winner_last(name, sizes)))
    for past in (15, 63):
        sizes = Sizes(2, 3, 1, 1, 1, 1, past=past)
        made.append(attention(f"tails/decode_past_{past}", f"One new token after {past}")(sizes, is_causal=True))
    return tuple(made)


def query_cases() -> tuple[AuthoredCase, ...]:
    """Hold every length of queries; of the longer ones a sample of the output that begins and ends with it."""
    made: list[AuthoredCase] = []
    for length in LENGTHS:
        if length not in QUERY_LENGTHS:
            continue
        width = width_for(length)
        sizes = Sizes(1, 2, 2, length, 5, width)
        count = 2 * length * width
        sample = tuple(
            sorted({*range(0, count, 7), *range(count - width, count), *range(length * width - width, length * width)})
        )
        made.append(
            attention(f"tails/queries_{length}", f"{length} queries")(
                sizes, clauses=("sdpa.scores", "sdpa.output"), sample={"output": sample} if length > 33 else None
            )
        )
    return tuple(made)


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put odd lengths together with everything that excludes keys."""
    boolean, added = "tails/boolean_mask_33", "tails/float_mask_43"
    wide, narrow = "tails/values_of_130_features", Sizes(1, 2, 1, 3, 40, 1)
    halves: dict[str, Any] = {"value": np.round(grid(f"{wide}/values", (1, 1, 40, 130)) * 2.0) / 2.0}
    return (
        *(
            attention(
                f"tails/causal_{queries}_{keys}_{alignment}",
                f"{queries} queries, {keys} keys, causal, {alignment.replace('_', '-')}",
            )(Sizes(1, 2, 1, queries, keys, 2), is_causal=True, causal_alignment=alignment)
            for queries, keys, alignment in (
                (17, 33, TOP_LEFT),
                (17, 33, BOTTOM_RIGHT),
                (7, 65, BOTTOM_RIGHT),
                (18, 9, TOP_LEFT),
                (18, 9, BOTTOM_RIGHT),
            )
        ),
        attention("tails/causal_17", "Seventeen queries and keys, causal")(Sizes(1, 2, 2, 17, 17), is_causal=True),
        attention(boolean, "Thirty-three keys under a Boolean mask")(
            Sizes(1, 2, 1, 5, 33), mask=boolean_mask(boolean, (5, 33))
        ),
        attention(added, "Forty-three keys under a float mask whose rows are no multiple of eight")(
            Sizes(1, 2, 1, 3, 43),
            url="https://github.com/facebookresearch/xformers/issues/813",
            mask=float_mask(added, (3, 43)),
        ),
        attention("tails/boolean_mask_97", "Ninety-seven keys under a Boolean mask")(
            Sizes(1, 2, 1, 3, 97, 1), mask=boolean_mask("tails/boolean_mask_97", (3, 97))
        ),
        attention("tails/window_33", "Thirty-three queries and keys under a window")(
            Sizes(1, 2, 1, 33, 33, 1), window=[9, 4]
        ),
        attention("tails/decode_49", "One query against forty-nine keys")(Sizes(2, 3, 1, 1, 49, 1)),
        attention("tails/past_31", "Three new tokens after thirty-one past ones")(
            Sizes(1, 4, 1, 3, 3, past=31), is_causal=True
        ),
        attention("tails/key_lengths", "Buffers of thirty-three keys of which 33, 17 and 16 count")(
            Sizes(3, 2, 1, 4, 33, 2), clauses=("sdpa.key_lengths.exclusion",), key_lengths=[33, 17, 16]
        ),
        attention("tails/sinks_33", "Thirty-three keys and sinks")(
            Sizes(1, 2, 1, 4, 33), outputs=("output", "logsumexp"), sinks=[0.5, 2.0]
        ),
        attention("tails/grouped_33", "Thirty-three keys of two shared heads for six")(Sizes(1, 6, 2, 3, 33, 2)),
        attention(
            wide, "Forty keys, of which the last wins, and values of 130 features: tiles of keys and of features"
        )(Sizes(1, 2, 1, 3, 40, 1, 130), **(winner_last(wide, narrow) | halves)),
        attention("tails/values_wider_17", "Seventeen keys and values of width 9")(Sizes(1, 2, 2, 4, 17, 3, 9)),
        attention("tails/alibi_33", "Thirty-three queries and keys with slopes, causal")(
            Sizes(1, 2, 1, 33, 33, 1), alibi_slopes=[0.25, 0.03125], is_causal=True
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile tails."""
    return (*key_cases(), *decoding_cases(), *query_cases(), *combined_cases(), *far_cases())
