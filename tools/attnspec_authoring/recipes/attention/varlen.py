"""Profile varlen: sequences of unequal lengths in one batch, padded and distinguished by their lengths.

What stands behind a length is finite here, but large, so that it shows when it is read. Not a number stands there in
the profile nonfinite.

Code that takes one kind of lengths for the other goes wrong only where both have the same bound, and nothing else
hides what lies behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP,
    TOP_LEFT,
    Sizes,
    attention,
    booleans,
    coarse,
    float_mask,
    floats,
    probe,
    probe_sizes,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

varlen = profile("varlen")

HEADS = Sizes(3, 2, 2, 4, 5)
SIZES = Sizes(3, 1, 1, 4, 5)
SEEN = probe_sizes(3, 1, 1, 4, 5)
KEY_LENGTHS = [5, 2, 3]
QUERY_LENGTHS = [4, 1, 3]
BOTH: dict[str, Any] = {"key_lengths": KEY_LENGTHS, "query_lengths": QUERY_LENGTHS}
ALIGNMENTS = (TOP_LEFT, BOTTOM_RIGHT)
FILL = 96.0


def padded(name: str, sizes: Sizes, key_lengths: list[int]) -> dict[str, Any]:
    """Draw tensors and fill keys and values behind the lengths with a large number."""
    tensors = sizes.drawn(name)
    behind = np.arange(sizes.keys) >= np.array(key_lengths)[:, np.newaxis]
    for tensor in ("key", "value"):
        tensors[tensor] = np.where(behind[:, np.newaxis, :, np.newaxis], FILL, tensors[tensor])
    return tensors


def aligned_cases() -> Iterator[AuthoredCase]:
    """Position queries by the lengths, under each alignment."""
    for alignment in ALIGNMENTS:
        short = alignment.split("_", maxsplit=1)[0]
        names = {name: f"varlen/{name}_{short}" for name in ("causal", "causal_queries", "window", "alibi", "mask")}
        aligned: dict[str, Any] = {"causal_alignment": alignment}
        # Rows beyond the length may hold anything. The others change because the last query that counts has a position.
        lengths_changed = ChangedArgument("query_lengths", reversed=True) if alignment == BOTTOM_RIGHT else None
        yield from (
            attention(names["causal"], f"Causal with lengths of queries and keys, {short}")(
                HEADS,
                report="AI-Hypercomputer/maxtext/issues/4476" if alignment == BOTTOM_RIGHT else None,
                is_causal=True,
                **aligned,
                **BOTH,
                **padded(names["causal"], HEADS, KEY_LENGTHS),
            ),
            attention(f"{names['causal']}_probe", f"Which keys causality and lengths leave, {short}")(
                SEEN, is_causal=True, **aligned, **BOTH, **probe(SEEN)
            ),
            attention(names["causal_queries"], f"Causal with lengths of queries alone, {short}")(
                SIZES,
                is_causal=True,
                query_lengths=QUERY_LENGTHS,
                changed_argument=lengths_changed,
                revision=2 if lengths_changed else 1,
                **aligned,
            ),
            attention(f"{names['window']}_probe", f"Which keys a window and lengths leave, {short}")(
                SEEN, window=[1, 0], **aligned, **BOTH, **probe(SEEN)
            ),
            attention(names["alibi"], f"Distances counted from the lengths, {short}")(
                SIZES, alibi_slopes=[0.5], is_causal=True, **aligned, **BOTH
            ),
            attention(names["mask"], f"A mask, causality and lengths, {short}")(
                SIZES,
                clauses="key_lengths.exclusion mask.boolean",
                mask=booleans(3, 1, 4, 5),
                is_causal=True,
                revision=2 if short == "top" else 1,
                **aligned,
                **BOTH,
            ),
        )


def packed_cases() -> tuple[AuthoredCase, ...]:
    """Show that a padded batch gives what its sequences give one by one."""
    sizes = Sizes(3, 2, 2, 5, 5)
    lengths = [5, 3, 1]
    together = padded("varlen/packed", sizes, lengths)
    stated: dict[str, Any] = {"is_causal": True}
    made = [
        varlen("packed", "Sequences of five, three and one token in one batch, causal")(
            sizes,
            clauses="key_lengths.exclusion query_lengths.rows",
            report="Tencent-Hunyuan/HunyuanVideo/pull/310",
            key_lengths=lengths,
            query_lengths=lengths,
            **stated,
            **together,
        )
    ]
    for entry, (length, words) in enumerate(((5, "five tokens"), (3, "three tokens"), (1, "one token"))):
        alone: dict[str, Any] = {name: array[entry : entry + 1, :, :length] for name, array in together.items()}
        made.append(
            varlen(f"alone_{length}", f"The sequence of {words}, alone")(
                sizes, drawn_as="varlen/packed", **stated, **alone
            )
        )
    return tuple(made)


def of_few_arguments() -> Iterator[AuthoredCase]:
    """Give lengths, and nothing else but causality, to as many queries as keys, or to one: encoders, and decoding."""
    lengths = {
        "entries": (Sizes(3, 2, 2, 4, 4), [4, 2, 3]),
        "one_key": (Sizes(2, 1, 1, 5, 5, 2), [1, 5]),
        "probe": (probe_sizes(2, 3, 3, 5, 5), [3, 4]),
    }
    for name, (sizes, counted) in lengths.items():
        title = f"The first {', '.join(map(str, counted))} of {sizes.keys} keys count, for as many queries"
        for case_id, ending, stated in (
            (f"varlen/keys_square_{name}", "", {}),
            (f"varlen/keys_square_{name}_causal", ", causal", {"is_causal": True, **TOP}),
        ):
            tensors = probe(sizes) if name == "probe" else padded(case_id, sizes, counted)
            yield attention(case_id, title + ending)(sizes, key_lengths=counted, **stated, **tensors)
    yield varlen("both_square", "Lengths of as many queries as keys, causal from the last that counts")(
        Sizes(3, 2, 2, 4, 4), key_lengths=[4, 3, 2], query_lengths=[2, 3, 1], **BOTTOM_CAUSAL
    )
    for name, sizes, counted in (
        ("one_query", Sizes(3, 2, 2, 1, 5), [2, 5, 3]),
        ("one_query_grouped", Sizes(2, 6, 2, 1, 7, 2), [4, 1]),
    ):
        yield varlen(
            f"{name}_causal",
            f"The first {', '.join(map(str, counted))} of {sizes.keys} keys count, for one query, causal",
        )(sizes, key_lengths=counted, **BOTTOM_CAUSAL, **padded(f"varlen/{name}_causal", sizes, counted))


def tile_cases() -> tuple[AuthoredCase, ...]:
    """Fill the tiles of kernels to the last key, so that only lengths say what counts."""
    aligned, padded_tiles = "varlen/aligned_tiles", Sizes(2, 1, 1, 16, 32, 1)
    half_of_them = (np.arange(32) % 5 != 3) | (np.arange(32) % 3 == 0)
    return (
        varlen("whole_tiles_alibi", "192 keys in whole tiles, of which 150 count, at distances beyond a signed byte")(
            Sizes(1, 2, 1, 3, 192, 1),
            report="flashinfer-ai/flashinfer/pull/5090",
            query=np.zeros((1, 2, 3, 1)),
            key=np.zeros((1, 1, 192, 1)),
            value=(np.arange(192, dtype=np.float64) // 8).reshape(1, 1, 192, 1),
            key_lengths=[150],
            alibi_slopes=[0.0078125, 0.015625],
            **TOP,
        ),
        varlen(
            "prompt_beside_decoding", "66 queries of a prompt beside two of decoding, over more keys than a tile has"
        )(
            Sizes(2, 1, 1, 66, 70, 1),
            report="flashinfer-ai/flashinfer/issues/2424",
            key_lengths=[66, 70],
            query_lengths=[66, 2],
            **BOTTOM_CAUSAL,
        ),
        attention(aligned, "16 queries and 32 keys with lengths, a window, a mask for each entry, a cap and sinks")(
            padded_tiles,
            report="Tencent-Hunyuan/HunyuanVideo/pull/310",
            **coarse(aligned, padded_tiles),
            mask=np.stack([half_of_them, half_of_them[::-1]]).reshape(2, 1, 1, 32),
            key_lengths=[32, 21],
            query_lengths=[16, 11],
            sinks=[0.5],
            **BOTTOM,
            softcap=2.0,
            window=[5, 3],
        ),
    )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put lengths together with masks, sinks, caps, scales and grouped heads."""
    case = table(varlen, sizes=SIZES)
    left_padding = (np.arange(5) >= np.array([0, 3, 2])[:, np.newaxis]).reshape(3, 1, 1, 5)
    return (
        case("left_padding", "Padding on the left cannot be said by lengths; a mask says it")(
            clauses="mask.boolean mask.broadcast", report="OpenNMT/OpenNMT-py/pull/2589", mask=left_padding
        ),
        varlen("bias", "A float mask over keys of which not all count")(
            HEADS,
            clauses="key_lengths.exclusion mask.additive",
            key_lengths=KEY_LENGTHS,
            mask=floats(2, 4, 5, hides=False),
        ),
        varlen("sinks", "Sinks with keys behind the length")(HEADS, key_lengths=[5, 0, 3], sinks=np.array([0.5, -1.0])),
        case("logsumexp_of_shorter_queries", "Weights and logsumexp where not all queries count")(
            report="Dao-AILab/flash-attention/pull/2573",
            also="weights logsumexp",
            key_lengths=KEY_LENGTHS,
            query_lengths=[4, 2, 3],
        ),
        case("softcap", "A cap with keys behind the length")(key_lengths=KEY_LENGTHS, softcap=1.0),
        case("scale", "A negative scale with keys behind the length")(key_lengths=KEY_LENGTHS, scale=-0.75),
        varlen("grouped", "Grouped heads with lengths, causal")(
            Sizes(2, 6, 3, 4, 5), key_lengths=[5, 3], query_lengths=[4, 2], **BOTTOM_CAUSAL
        ),
        varlen("values_wider", "Lengths with values wider than the keys")(
            Sizes(3, 1, 1, 4, 5, 3, 6),
            key_lengths=KEY_LENGTHS,
            changed_argument=ChangedArgument("key_lengths", reversed=True),
            revision=2,
        ),
        varlen(
            "as_many_heads_as_entries",
            "A mask and lengths for each of as many entries as heads; one has no query, and one no keys",
        )(
            Sizes(3, 3, 1, 1, 2, 1),
            report="keras-team/keras-hub/issues/783",
            query=np.zeros((3, 3, 1, 1)),
            key=np.zeros((3, 1, 2, 1)),
            value=np.array([[1.0, 2.0], [4.0, 8.0], [1.0, 2.0]]).reshape(3, 1, 2, 1),
            also="logsumexp",
            mask=np.array([[False, False], [True, False], [True, True]]).reshape(3, 1, 1, 2),
            key_lengths=[1, 1, 0],
            query_lengths=[0, 1, 1],
        ),
    )


SQUARE = Sizes(3, 2, 1, 5, 5)
MORE_QUERIES = Sizes(3, 2, 1, 6, 4)
STEPS = ("output", "scores", "logits", "weights", "logsumexp")
FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "window": {"window": [2, 1]},
    "alibi": {"alibi_slopes": [0.25, 1.0]},
}


def lengths_of(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return lengths of queries, of keys, and of both, that differ from each other in every entry."""
    queries, keys = [sizes.queries - 3, sizes.queries, 1], [sizes.keys, 2, sizes.keys - 1]
    return {
        "query_lengths": {"query_lengths": queries},
        "key_lengths": {"key_lengths": keys},
        "both_lengths": {"query_lengths": queries, "key_lengths": keys},
    }


def alone_cases() -> Iterator[AuthoredCase]:
    """Return each kind of lengths beside each feature that positions queries, under alignments that differ."""
    for shape, sizes in (("square", SQUARE), ("more_queries", MORE_QUERIES)):
        for kind, lengths in lengths_of(sizes).items():
            for feature, arguments in FEATURES.items():
                case_id = f"varlen/{shape}_{kind}_{feature}"
                inputs = {**sizes.drawn(case_id), **{name: np.asarray(value) for name, value in lengths.items()}}
                slopes = {name: np.asarray(value) for name, value in arguments.items() if name == "alibi_slopes"}
                attributes = {name: value for name, value in arguments.items() if name != "alibi_slopes"}
                differ = depends_on_alignment({**inputs, **slopes}, attributes)
                for alignment in (TOP_LEFT, BOTTOM_RIGHT) if differ else (None,):
                    at = "" if alignment is None else f", {alignment.replace('_', ' ')}"
                    yield attention(
                        case_id if alignment is None else f"{case_id}_{alignment}",
                        f"{kind.replace('_', ' ').capitalize()}, {sizes.queries} queries and {sizes.keys} keys, "
                        f"{feature}{at}",
                    )(
                        sizes,
                        drawn_as=case_id,
                        **({} if alignment is None else {"causal_alignment": alignment}),
                        **lengths,
                        **arguments,
                    )


def coinciding_cases() -> Iterator[AuthoredCase]:
    """Return lengths of which a sum is the number of entries, or of the other kind of tokens, entry by entry another.

    Packed one behind the other, such tokens look like one for each entry, or like as many queries as keys.
    """
    sizes = Sizes(3, 2, 1, 4, 5)
    named: dict[str, tuple[str, dict[str, Any]]] = {
        "as_many_queries_as_entries": ("As many queries in all as entries", {"query_lengths": [2, 0, 1]}),
        "as_many_queries_as_entries_in_one": ("As many queries in one entry as entries", {"query_lengths": [0, 3, 0]}),
        "as_many_keys_as_entries": ("As many keys in all as entries", {"key_lengths": [0, 1, 2]}),
        "as_many_of_both_as_entries": (
            "As many queries in all, and as many keys, as entries",
            {"query_lengths": [1, 0, 2], "key_lengths": [2, 1, 0]},
        ),
        "as_many_queries_as_keys": (
            "As many queries in all as keys, in no entry",
            {"query_lengths": [1, 3, 2], "key_lengths": [3, 1, 2]},
        ),
        "as_many_queries_as_longest": (
            "As many queries in all as the longest entry could have, and its keys",
            {"query_lengths": [1, 1, 2], "key_lengths": [1, 2, 2]},
        ),
    }
    ways: dict[str, dict[str, Any]] = {"": {}, "_causal": {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}}
    for name, (what, lengths) in named.items():
        for feature, arguments in ways.items():
            yield varlen(f"{name}{feature}", f"{what}{', causal, bottom right' if feature else ''}")(
                sizes, **lengths, **arguments
            )


def all_short_cases() -> tuple[AuthoredCase, ...]:
    """Return lengths below those of the tensors in every entry: who cuts what nobody needs must put all of it back."""
    mask = float_mask("varlen/all_short", (4, 6))
    several, one = Sizes(3, 2, 1, 4, 6), Sizes(1, 2, 2, 3, 5)
    named: dict[str, tuple[str, Sizes, dict[str, Any]]] = {
        "keys": ("Keys", several, {"key_lengths": [2, 4, 3]}),
        "queries": ("Queries", several, {"query_lengths": [1, 3, 2]}),
        "both": ("Keys and queries", several, {"key_lengths": [4, 2, 1], "query_lengths": [2, 1, 3]}),
        "of_one_entry": ("Keys and queries of one entry", one, {"key_lengths": [2], "query_lengths": [2]}),
        "and_none": ("Keys, of one entry none", several, {"key_lengths": [0, 4, 3]}),
        "beside_mask": ("Keys beside a mask", several, {"key_lengths": [2, 4, 3], "mask": mask}),
        "beside_sinks": ("Keys beside sinks", several, {"key_lengths": [2, 4, 3], "sinks": [0.5, -1.0]}),
    }
    return tuple(
        varlen(f"all_short_{name}", f"{what} that are fewer than there is room for in every entry, and every step")(
            sizes,
            # Of queries that do not count the steps name no page.
            outputs=("output", "weights") if "query_lengths" in arguments else STEPS,
            **arguments,
        )
        for name, (what, sizes, arguments) in named.items()
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile varlen."""
    case = table(varlen, sizes=HEADS)
    return (
        # Hold lengths of keys, of queries, and of both.
        case("key_lengths", "Five, two and three keys count; behind them stand large numbers")(
            clauses="key_lengths.exclusion",
            report="deepspeedai/DeepSpeed/issues/1967",
            key_lengths=KEY_LENGTHS,
            **padded("varlen/key_lengths", HEADS, KEY_LENGTHS),
        ),
        case("key_lengths_other_values", "The same lengths with other values")(
            key_lengths=KEY_LENGTHS, **padded("varlen/key_lengths_other_values", HEADS, KEY_LENGTHS)
        ),
        case("key_lengths_changed", "The shapes of varlen/key_lengths with other lengths")(
            drawn_as="varlen/key_lengths", key_lengths=[1, 4, 2]
        ),
        varlen("key_lengths_probe", "Which keys the lengths leave")(
            SEEN, clauses="key_lengths.exclusion", key_lengths=KEY_LENGTHS, **probe(SEEN)
        ),
        varlen("query_lengths", "Four, one and three queries count")(SIZES, query_lengths=QUERY_LENGTHS),
        case("both", "Lengths of queries and keys")(**BOTH, **padded("varlen/both", HEADS, KEY_LENGTHS)),
        varlen("steps", "Weights, logits and logsumexp with keys behind the length")(
            Sizes(3, 1, 1, 4, 5),
            also="weights logsumexp logits",
            key_lengths=KEY_LENGTHS,
            **padded("varlen/steps", Sizes(3, 1, 1, 4, 5), KEY_LENGTHS),
        ),
        case("no_keys_in_one_entry", "A batch entry of which no key counts")(
            clauses="fully_masked_row key_lengths.exclusion",
            report="pytorch/pytorch/issues/81077",
            key_lengths=[5, 0, 3],
        ),
        varlen("no_keys_in_one_entry_steps", "Weights and logsumexp of a batch entry of which no key counts")(
            Sizes(3, 1, 1, 2, 5), report="HabanaAI/vllm-fork/pull/318", also="weights logsumexp", key_lengths=[5, 0, 3]
        ),
        varlen("no_queries_in_one_entry", "A batch entry of which no query counts")(
            SIZES, clauses="query_lengths.rows", query_lengths=[4, 0, 2], key_lengths=KEY_LENGTHS
        ),
        varlen("one_key_each", "One key of each batch entry counts: its value comes out")(SIZES, key_lengths=[1, 1, 1]),
        *aligned_cases(),
        *packed_cases(),
        *of_few_arguments(),
        *tile_cases(),
        *combined_cases(),
        *alone_cases(),
        *all_short_cases(),
        *coinciding_cases(),
        *pairwise_cases("varlen"),
    )
