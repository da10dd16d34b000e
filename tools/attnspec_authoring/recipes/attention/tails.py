"""Profile tails: lengths at and around the tiles in which kernels work, and those that a byte does not count.

The last key wins, or every score is negative. What fills up the last tile scores zero as a rule; it shows where zero is
more than the true scores.

Each is just beyond 127 or 255, in one extent at a time, so that the cases stay small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    coarse,
    floats,
    profile,
)
from attnspec_authoring.recipes.attention.layout.heads import layout as of_heads
from attnspec_authoring.recipes.attention.layout.projections import multi_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, context, softmax
from attnspec_authoring.recipes.authoring import headed
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

tails = profile("tails")

LENGTHS = (1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257)
QUERY_LENGTHS = (17, 33, 64, 65, 129)
REPORTS = {
    17: "microsoft/onnxruntime/pull/26715",
    33: "tenstorrent/tt-metal/issues/54833",
    63: "thu-ml/SageAttention/pull/377",
    129: "tenstorrent/tt-metal/issues/56171",
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


def key_cases() -> Iterator[AuthoredCase]:
    """Hold every length of keys; those that leave most of the last tile unfilled twice."""
    for length in LENGTHS:
        shared = 1 if length > 17 else 2
        sizes = Sizes(1, 2, shared, 3, length, width_for(length)) if length > 1 else Sizes(3, 2, 2, 4, 1)
        words = f"{length} keys" if length > 1 else "One key"
        for kind, make, what, report in (
            ("winner_last", winner_last, "the last one wins", REPORTS.get(length)),
            ("all_negative", all_negative, "all scores are negative, the last one least", None),
        ):
            if kind == "all_negative" and length % 16 in (0, 15):
                continue
            name = f"tails/keys_{length}_{kind}"
            yield attention(name, f"{words}: {what}")(
                sizes, clauses="softmax.keys output", report=report, **make(name, sizes)
            )


def decoding_cases() -> Iterator[AuthoredCase]:
    """Hold one query against keys that fill their tiles to the last key, with a past and without."""
    for length in (8, 16, 32, 64):
        name, sizes = f"tails/decode_{length}", Sizes(2, 3, 1, 1, length, 1)
        report = "microsoft/onnxruntime/pull/26715" if length == 16 else None
        yield attention(name, f"One query against {length} keys")(sizes, report=report, **winner_last(name, sizes))
    for past in (15, 63):
        sizes = Sizes(2, 3, 1, 1, 1, 1, past=past)
        yield tails(f"decode_past_{past}", f"One new token after {past}")(sizes, is_causal=True)


def query_cases() -> Iterator[AuthoredCase]:
    """Hold every length of queries; of the longer ones a sample of the output that begins and ends with it."""
    for length in LENGTHS:
        if length not in QUERY_LENGTHS:
            continue
        width = width_for(length)
        sizes = Sizes(1, 2, 2, length, 5, width)
        count = 2 * length * width
        sample = tuple(
            sorted({*range(0, count, 7), *range(count - width, count), *range(length * width - width, length * width)})
        )
        yield tails(f"queries_{length}", f"{length} queries")(
            sizes, clauses="scores output", sample={"output": sample} if length > 33 else None
        )


def _rising(keys: int) -> NDArray[np.float64]:
    """Return keys (1, 1, Sk, 1) that rise by an eighth from one to the next."""
    return np.arange(float(keys)).reshape(1, 1, keys, 1) / 8.0


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put odd lengths together with everything that excludes keys."""
    boolean, added = "tails/boolean_mask_33", "tails/float_mask_43"
    wide, narrow = "tails/values_of_130_features", Sizes(1, 2, 1, 3, 40, 1)
    halves: dict[str, Any] = {"value": np.round(grid(f"{wide}/values", (1, 1, 40, 130)) * 2.0) / 2.0}
    return (
        *(
            tails(
                f"causal_{queries}_{keys}_{alignment}",
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
        tails("causal_17", "Seventeen queries and keys, causal")(Sizes(1, 2, 2, 17, 17), is_causal=True),
        attention(boolean, "Thirty-three keys under a Boolean mask")(Sizes(1, 2, 1, 5, 33), mask=booleans(5, 33)),
        attention(added, "Forty-three keys under a float mask whose rows are no multiple of eight")(
            Sizes(1, 2, 1, 3, 43), report="facebookresearch/xformers/issues/813", mask=floats(3, 43)
        ),
        tails("boolean_mask_97", "Ninety-seven keys under a Boolean mask")(
            Sizes(1, 2, 1, 3, 97, 1), mask=booleans(3, 97)
        ),
        tails("window_33", "Thirty-three queries and keys under a window")(Sizes(1, 2, 1, 33, 33, 1), window=[9, 4]),
        tails("decode_49", "One query against forty-nine keys")(Sizes(2, 3, 1, 1, 49, 1)),
        tails("past_31", "Three new tokens after thirty-one past ones")(Sizes(1, 4, 1, 3, 3, past=31), is_causal=True),
        tails("key_lengths", "Buffers of thirty-three keys of which 33, 17 and 16 count")(
            Sizes(3, 2, 1, 4, 33, 2), clauses="key_lengths.exclusion", key_lengths=[33, 17, 16]
        ),
        tails("sinks_33", "Thirty-three keys and sinks")(Sizes(1, 2, 1, 4, 33), also="logsumexp", sinks=[0.5, 2.0]),
        tails("grouped_33", "Thirty-three keys of two shared heads for six")(Sizes(1, 6, 2, 3, 33, 2)),
        attention(
            wide, "Forty keys, of which the last wins, and values of 130 features: tiles of keys and of features"
        )(Sizes(1, 2, 1, 3, 40, 1, 130), **(winner_last(wide, narrow) | halves)),
        tails("values_of_66_features", "Sixty-six keys whose scores rise to the last, and as many features of values")(
            risen := Sizes(1, 2, 1, 3, 66, 1, 66),
            **(
                coarse("tails/values_of_66_features", risen) | {"query": np.full((1, 2, 3, 1), 1.0), "key": _rising(66)}
            ),
        ),
        tails("values_wider_17", "Seventeen keys and values of width 9")(Sizes(1, 2, 2, 4, 17, 3, 9)),
        tails("alibi_33", "Thirty-three queries and keys with slopes, causal")(
            Sizes(1, 2, 1, 33, 33, 1), alibi_slopes=[0.25, 0.03125], is_causal=True
        ),
    )


PROFILE = "tails"
BYTES = {131: "a signed byte", 260: "a byte"}
SLOPES = [0.03125, 0.25]


def around_bytes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return the sample of an output of one feature that shows the first and last queries, and those at 128 and 256."""
    shown = {*range(4), *range(124, 132), *range(252, 260), sizes.queries - 2, sizes.queries - 1}
    rows = sorted(row for row in shown if row < sizes.queries)
    of_heads = range(0, sizes.batch * sizes.heads * sizes.queries, sizes.queries)
    return {"output": tuple(start + row for start in of_heads for row in rows)}


@headed
def far(case_id: str, title: str, sizes: Sizes, **arguments: Any) -> AuthoredCase:
    """Make a case of drawn halves, and store of many queries those around the bytes."""
    sample = around_bytes(sizes) if sizes.queries > 100 else None
    return attention(case_id, title)(sizes, sample=sample, **coarse(case_id, sizes), **arguments)


def square_cases() -> tuple[AuthoredCase, ...]:
    """Hold as many queries as keys beyond a byte: causality, windows and distances."""
    named: dict[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "window": {"window": [3, 1]},
        "wide_window": {"window": [129, 0]},
        "right_window": {"window": [None, 2]},
        "alibi": {"alibi_slopes": SLOPES},
        "causal_alibi": {"alibi_slopes": SLOPES, "is_causal": True},
    }
    return tuple(
        far(
            f"tails/far_{name}_{tokens}",
            f"{tokens} queries and keys, more than {byte} counts: {name.replace('_', ' ')}",
        )(Sizes(1, 2, 1, tokens, tokens, 1), **arguments)
        for tokens, byte in BYTES.items()
        for name, arguments in named.items()
    )


def placed_cases() -> Iterator[AuthoredCase]:
    """Hold few queries that a past, an alignment or lengths put beyond a byte, and few keys before many queries."""
    few = {"causal": {"is_causal": True}, "window": {"window": [2, 0]}, "alibi": {"alibi_slopes": SLOPES}}
    for keys, byte in BYTES.items():
        for name, arguments in few.items():
            yield from (
                far(
                    f"tails/far_bottom_right_{name}_{keys}",
                    f"Three queries at the last of {keys} keys, more than {byte} counts: {name}",
                )(Sizes(1, 2, 1, 3, keys, 1), **BOTTOM, **arguments),
                far(
                    f"tails/far_past_{name}_{keys}",
                    f"Three queries after a past of {keys} keys, more than {byte} counts: {name}",
                )(
                    Sizes(1, 2, 1, 3, 4, 1, past=keys),
                    # One key more than queries, which the bottom-right corner makes visible.
                    **TOP,
                    **arguments,
                ),
                far(
                    f"tails/far_queries_{name}_{keys}",
                    f"{keys} queries, more than {byte} counts, that end at the last of five keys: {name}",
                )(Sizes(1, 2, 1, keys, 5, 1), **BOTTOM, **arguments),
            )
    lengths = Sizes(3, 2, 1, 4, 300, 1)
    queries = Sizes(3, 2, 1, 300, 4, 1)
    yield from (
        far("tails/far_key_lengths", "Of 300 keys 256, 129 and 257 count")(
            lengths, clauses="key_lengths.exclusion", key_lengths=[256, 129, 257]
        ),
        far("tails/far_key_lengths_causal", "Of 300 keys 257, 128 and 300 count, the last query at the last of them")(
            lengths, key_lengths=[257, 128, 300], **BOTTOM_CAUSAL
        ),
        far(
            "tails/far_query_lengths_causal", "Of 300 queries 257, 128 and 300 count, the last of them at the last key"
        )(queries, query_lengths=[257, 128, 300], **BOTTOM_CAUSAL),
    )


def counted_cases() -> tuple[AuthoredCase, ...]:
    """Hold counts of visible keys, entries, heads and tokens that are a multiple of a byte, or more than it."""
    mask = np.zeros((3, 300), dtype=np.bool_)
    for row, seen in enumerate((256, 128, 255)):
        mask[row, row : row + seen] = True
    return (
        far("tails/far_256_keys", "256 keys, all of which are seen")(Sizes(1, 2, 1, 3, 256, 1)),
        far("tails/far_512_keys", "512 keys, all of which are seen")(Sizes(1, 2, 1, 3, 512, 1)),
        far("tails/far_256_keys_seen", "Of 300 keys a Boolean mask shows 256, 128 and 255")(
            Sizes(1, 2, 1, 3, 300, 1), mask=mask
        ),
        far("tails/far_256_keys_in_a_window", "A window of 256 keys among 300")(
            Sizes(1, 2, 1, 3, 300, 1), window=[254, 1], **BOTTOM
        ),
        far("tails/far_entries", "130 batch entries of two heads, more than a byte counts")(Sizes(130, 2, 1, 1, 3, 1)),
        far("tails/far_heads", "260 heads over one, more than a byte counts")(Sizes(1, 260, 1, 2, 3, 1)),
        multi_head("far_causal", "131 tokens, causal, more than a signed byte counts")(
            (1, 131, 131), profile=PROFILE, width=2, num_heads=2, is_causal=True
        ),
        multi_head("far_keys", "three queries, 256 keys")((1, 3, 256), profile=PROFILE, width=2, num_heads=1),
        context("far_tokens", "256 states of one feature")(256, 1, profile=PROFILE),
        softmax("far_rows", "three hundred rows of two")((300, 2), profile=PROFILE),
        softmax("far_columns", "three hundred columns of two")((2, 300), clauses=AXIS, profile=PROFILE, axis=0),
        of_heads("far_tokens", "three hundred tokens of four features in two heads")(
            (1, 300, 4), num_heads=2, profile=PROFILE, x=grid("tails/split_far", (1, 300, 4))
        ),
        of_heads("far_heads", "two tokens of 260 heads of one feature")(
            (1, 2, 260), num_heads=260, profile=PROFILE, x=grid("tails/split_far_heads", (1, 2, 260))
        ),
        of_heads("far_tokens", "two heads of three hundred tokens, joined")(
            (1, 2, 300, 2), profile=PROFILE, x=grid("tails/combine_far", (1, 2, 300, 2))
        ),
        of_heads("far_heads", "260 heads of two tokens, joined")(
            (1, 260, 2, 1), profile=PROFILE, x=grid("tails/combine_far_heads", (1, 260, 2, 1))
        ),
    )


def many_heads() -> Iterator[AuthoredCase]:
    """Hold more heads than eight and than sixteen, each with a slope, a sink, a mask or a key head of its own."""
    for heads, shared in ((9, 1), (12, 3), (17, 1), (18, 2), (33, 1)):
        sizes = Sizes(1, heads, shared, 2, 5)
        numbers = np.arange(heads, dtype=np.float64)
        own: dict[str, dict[str, Any]] = {
            "slopes": {"alibi_slopes": (numbers + 1.0) / 16.0, "causal_alignment": BOTTOM_RIGHT},
            "sinks": {"sinks": (numbers - heads // 2) / 4.0},
            "masks": {"mask": boolean_mask(f"tails/heads_{heads}", (heads, 2, 5))},
        }
        yield from (
            tails(f"heads_{heads}_{name}", f"{heads} query heads over {shared}, with {name} of their own")(
                sizes, **arguments
            )
            for name, arguments in own.items()
        )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile tails."""
    return (
        *key_cases(),
        *decoding_cases(),
        *query_cases(),
        *combined_cases(),
        # Return the cases of far positions and large counts.
        *square_cases(),
        *placed_cases(),
        *counted_cases(),
        *many_heads(),
    )
