"""Boolean and float masks of every shape, fully masked rows, hidden tiles, and no keys at all.

Nothing was computed that could show the shape of the result, so that it has to be found from the arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    HIDDEN,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    counting,
    float_mask,
    floats,
    probe,
    probe_sizes,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

masking = profile("masking")

PLAIN = Sizes(3, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 5)
ONE_QUERY = Sizes(3, 2, 2, 1, 5)
SHAPES: dict[str, tuple[tuple[int, ...], str]] = {
    "rank_2": ((4, 5), "one table for all batch entries and heads"),
    "rank_2_row": ((1, 5), "one row for all queries"),
    "rank_3": ((2, 4, 5), "a table for each head"),
    "rank_3_shared": ((1, 4, 5), "one table, written with three axes"),
    "rank_3_row": ((2, 1, 5), "a row for each head"),
    "rank_4": ((3, 2, 4, 5), "a table for each batch entry and head"),
    "rank_4_batch": ((3, 1, 4, 5), "a table for each batch entry"),
    "rank_4_batch_row": ((3, 1, 1, 5), "a row for each batch entry"),
    "rank_4_head": ((1, 2, 4, 5), "a table for each head, written with four axes"),
    "rank_4_batch_head_row": ((3, 2, 1, 5), "a row for each batch entry and head"),
    "rank_4_row": ((1, 1, 1, 5), "one row, written with four axes"),
}
REPORTS = {
    "boolean_rank_4_batch": "pytorch/pytorch/pull/184180",
    "boolean_rank_4_batch_row": "jax-ml/jax/issues/28974",
    "float_rank_3": "onnx/onnx/pull/8108",
    "float_rank_2_row": "openvinotoolkit/openvino/pull/30758",
}


def shape_cases() -> Iterator[AuthoredCase]:
    """Hold every shape that broadcasts, for both kinds of mask."""
    for kind, draw in (("boolean", boolean_mask), ("float", float_mask)):
        for name, (shape, what) in SHAPES.items():
            case_id = f"masking/{kind}_{name}"
            yield attention(case_id, f"A {'Boolean' if kind == 'boolean' else kind} mask of shape {shape}: {what}")(
                PLAIN if name in ("rank_2", "rank_3") or shape[0] == PLAIN.batch else SMALL,
                clauses="mask.broadcast",
                report=REPORTS.get(f"{kind}_{name}"),
                mask=draw(case_id, shape),
            )
    # Heads of a group are packed as queries where there is but one: each has a mask of its own all the same.
    grouped = Sizes(3, 6, 2, 1, 5)
    for kind, draw in (("boolean", boolean_mask), ("float", float_mask)):
        for name, shape in (("rank_3", (6, 1, 5)), ("rank_4", (3, 6, 1, 5)), ("rank_4_head", (1, 6, 1, 5))):
            case_id = f"masking/{kind}_{name}_of_grouped_heads_one_query"
            yield attention(
                case_id,
                f"One query of six heads that share two, and a {kind} mask of shape {shape} for each of the six",
            )(grouped, clauses="mask.broadcast", mask=draw(case_id, shape))
    # Only with as many heads as batch entries does a rank-3 mask fit both readings.
    square = Sizes(2, 2, 2, 3, 5)
    for kind, draw in (("boolean", boolean_mask), ("float", float_mask)):
        case_id = f"masking/{kind}_rank_3_batch_equals_heads"
        words = "A Boolean mask" if kind == "boolean" else "A float mask"
        yield attention(case_id, f"{words} of rank 3 is a table for each head, also with as many batch entries")(
            square, clauses="mask.broadcast", report="onnx/onnx/pull/8108", mask=draw(case_id, (2, 3, 5))
        )
    # With an axis for groups a mask of an entry lies beside key heads, and fits them where there are as many.
    entries = Sizes(2, 6, 2, 3, 5)
    for kind, draw in (("boolean", boolean_mask), ("float", float_mask)):
        for name, shape in (("batch", (2, 1, 3, 5)), ("batch_row", (2, 1, 1, 5)), ("batch_head", (2, 6, 3, 5))):
            case_id = f"masking/{kind}_rank_4_{name}_of_as_many_entries_as_key_heads"
            yield attention(
                case_id, f"A {kind} mask of shape {shape} for two entries whose six heads share two key heads"
            )(entries, clauses="mask.broadcast", mask=draw(case_id, shape))
    shared = "masking/float_rank_4_shared_by_all"
    yield attention(shared, "A float mask of shape (1, 1, 4, 5) for a batch of two with three heads")(
        Sizes(2, 3, 3, 4, 5, 1), report="tracel-ai/burn-lm/pull/25", mask=floats(1, 1, 4, 5)
    )
    # Only with as many queries as keys can a row of keys be taken for a column of queries.
    rows = {"boolean_row_square": (1, 4), "boolean_batch_row_square": (2, 1, 1, 4), "float_head_row_square": (3, 1, 4)}
    for name, shape in rows.items():
        case_id = f"masking/{name}"
        draw = boolean_mask if name.startswith("boolean") else float_mask
        yield attention(case_id, f"A mask of shape {shape} hides keys, also with as many queries")(
            Sizes(2 if len(shape) == 4 else 1, 3, 3, 4, 4, 2),
            clauses="mask.broadcast",
            report="hyunwoongko/transformer/pull/40",
            mask=draw(case_id, shape),
        )


def of_padded_keys() -> tuple[AuthoredCase, ...]:
    """Mask keys of each batch entry over as many queries: Boolean with causality, and numbers that are all finite."""
    square, shape = Sizes(2, 3, 3, 4, 4), (2, 1, 1, 4)
    case = table(masking, sizes=square)
    left, right = np.array([[0, 0, 1, 1], [1, 1, 1, 1]], np.bool_), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.bool_)
    boolean, added = table(case, clauses="mask.boolean"), table(case, clauses="mask.additive mask.broadcast")
    return (
        boolean("boolean_padding_square", "Two padded keys on the left of one of two batch entries")(
            mask=left.reshape(shape)
        ),
        boolean("boolean_padding_causal_square", "Padded keys on the right, and causality")(
            mask=right.reshape(shape), is_causal=True
        ),
        boolean("boolean_batch_row_causal_square", "Some keys of each batch entry, of which the first, and causality")(
            mask=boolean_mask("masking/boolean_batch_row_causal_square", shape) | (np.arange(4) == 0),
            is_causal=True,
        ),
        added("float_finite_batch_row_square", "A finite bias for the keys of each batch entry")(
            mask=floats(*shape, hides=False)
        ),
        added("float_finite_row_square", "A finite bias for the keys, the same in all batch entries")(
            mask=floats(1, 4, hides=False)
        ),
        added("float_finite_padding_square", "Minus 8192 for padded keys, as modules make it of a Boolean mask")(
            mask=np.where(right, 0.0, -8192.0).reshape(shape)
        ),
        added("float_finite_heads_square", "A finite bias of positions for each head")(
            mask=floats(3, 4, 4, hides=False)
        ),
        added("float_finite_heads_rank_4_square", "A finite bias of positions for each head, written with four axes")(
            mask=floats(1, 3, 4, 4, hides=False)
        ),
    )


def meaning_cases() -> tuple[AuthoredCase, ...]:
    """Hold what true, false and numbers mean."""
    pair = Sizes(1, 4, 4, 3, 2, width=1)
    seen = np.array([[True, False], [False, True], [True, True]])
    five = probe_sizes(1, 2, 2, 4, 5)
    half = np.broadcast_to([True, False, True, True, False], (4, 5))
    high = SMALL.drawn("masking/hides_the_highest")
    high["key"] = high["key"].copy()
    high["key"][:, :, 2] = np.sign(high["query"][:, :, 0]) * 4.0
    not_the_third = np.arange(5) != 2
    bias = float_mask("masking/bias", (4, 5), hides=False)
    return (
        masking(
            "true_may_be_attended", "Where a Boolean mask is true the key is attended: 1, 2 or their mean comes out"
        )(pair, clauses="mask.boolean", report="rasbt/LLMs-from-scratch/issues/1061", mask=seen, **counting(pair)),
        masking("which_keys", "The output of a probe shows which keys a Boolean mask leaves")(
            five, mask=booleans(*five.mask), **probe(five)
        ),
        masking("same_for_every_row", "The same three of five keys for every query")(five, mask=half, **probe(five)),
        masking("all_true", "A mask that is true everywhere changes nothing")(SMALL, mask=np.ones((4, 5), np.bool_)),
        masking("all_zero", "A float mask of zeros changes nothing")(SMALL, mask=np.zeros((4, 5))),
        masking("all_one", "A float mask of ones changes no weight, only the logsumexp")(
            SMALL, also="weights logsumexp", mask=np.ones((4, 5))
        ),
        masking("zeros_and_ones", "A float mask of zeros and ones is added; it does not select")(
            pair,
            clauses="mask.additive",
            report="mlverse/torch/pull/1208",
            mask=seen.astype(np.float64),
            **counting(pair),
        ),
        masking("hides_the_highest", "The hidden key has the highest scores of all")(
            SMALL, clauses="mask.boolean", also="weights", mask=np.broadcast_to(not_the_third, (4, 5)), **high
        ),
        masking("bias", "A finite bias for every query and key")(SMALL, mask=bias),
        masking("bias_is_not_scaled", "The scale multiplies the scores and leaves the bias alone")(
            SMALL,
            clauses="mask.additive scale.explicit",
            report="tenstorrent/tt-metal/issues/55337",
            drawn_as="masking/bias",
            mask=bias,
            scale=0.125,
        ),
        masking("bias_with_scale_zero", "With the scale zero only the bias is left")(
            SMALL, also="weights", mask=float_mask("masking/bias_zero", (2, 4, 5)), scale=0.0
        ),
        masking("bias_steps", "Scores without, logits with the float mask")(
            SMALL, also="weights logsumexp scores logits", mask=floats(4, 5)
        ),
        masking("boolean_steps", "Logits are minus infinity where a Boolean mask hides a key")(
            SMALL, also="weights logsumexp scores logits", mask=booleans(4, 5)
        ),
        masking("boolean_negative_scale", "A Boolean mask under a negative scale: hidden keys stay hidden")(
            SMALL, clauses="scale.negative", mask=booleans(4, 5), scale=-1.0
        ),
        masking("one_query_boolean", "One query under a Boolean mask of its own for each batch entry")(
            ONE_QUERY, mask=booleans(3, 1, 1, 5)
        ),
        masking("one_query_float", "One query under a float mask of its own for each head")(
            ONE_QUERY, mask=floats(2, 1, 5)
        ),
        masking("width_8", "Eight features under a float mask")(Sizes(1, 2, 2, 4, 5, 8), mask=floats(2, 4, 5)),
        masking("values_wider", "A mask with values wider than the keys")(
            Sizes(1, 2, 2, 4, 5, 3, 6), mask=booleans(2, 4, 5)
        ),
    )


def number_cases() -> tuple[AuthoredCase, ...]:
    """Hold float masks whose numbers are long, large or small."""
    drawn = grid("masking/numbers/mask", (4, 5))
    numbers: dict[str, tuple[str, NDArray[Any]]] = {
        "thirteen_bits": ("A float mask with thirteen significant bits", 1.0 + np.round(drawn * 512.0) / 4096.0),
        "twenty_bits": ("A float mask with twenty significant bits", drawn * (1.0 + 2.0**-14) + 2.0**-12),
        "fine_steps": (
            "A float mask whose numbers differ by less than half precision can tell",
            3.0 + drawn * 2.0**-10,
        ),
        "eight_thousand": (
            "Minus 8192 hides a key beside others, though it excludes nothing",
            np.where(drawn < -0.5, -8192.0, drawn),
        ),
        "whole_row_of_minus_1024": (
            "A whole row of minus 1024 excludes nothing: it is as if it were not there",
            np.where(np.arange(4)[:, np.newaxis] == 1, -1024.0, drawn),
        ),
        "large_positive": ("A bias of plus 48 makes one key win", np.where(np.eye(4, 5, 1) > 0, 48.0, drawn)),
    }
    offered_everywhere = {"eight_thousand", "large_positive"}
    return tuple(
        masking(f"float_{name}", title)(
            SMALL,
            clauses="mask.additive",
            mask=mask,
            dtypes=EVERY_DTYPE if name in offered_everywhere else SINGLE_AND_DOUBLE,
        )
        for name, (title, mask) in numbers.items()
    )


def dead_row_cases() -> Iterator[AuthoredCase]:
    """Make fully masked rows: by one mask, or by two rules that each leave some keys."""
    rows = probe_sizes(1, 2, 2, 4, 5)
    links = {
        "middle_row": "pytorch/pytorch/issues/103963",
        "first_row": "ml-explore/mlx/issues/2395",
        "head": "pytorch/pytorch/issues/160064",
    }
    open_mask = boolean_mask("masking/dead", (1, 2, 4, 5))
    for name, index, what in (
        ("first_row", np.s_[:, :, 0], "the first query"),
        ("middle_row", np.s_[:, :, 2], "the third of four queries"),
        ("last_row", np.s_[:, :, -1], "the last query"),
        ("head", np.s_[:, 1], "every query of the second head"),
        ("everything", np.s_[:], "no query"),
    ):
        mask = open_mask.copy()
        mask[index] = False
        leaves = "A Boolean mask leaves no key to anyone" if name == "everything" else f"A mask leaves no key to {what}"
        yield masking(f"dead_{name}", leaves)(SMALL, clauses="fully_masked_row", report=links.get(name), mask=mask)
    hidden = float_mask("masking/dead_float", (4, 5))
    hidden[1] = HIDDEN
    padded = np.broadcast_to(np.arange(5) >= 2, (1, 5))
    of_entries = boolean_mask("masking/dead_batch_entry", (3, 2, 4, 5))
    of_entries[1] = False
    yield from (
        masking("dead_batch_entry", "A mask leaves no key to every query of the second batch entry")(
            PLAIN, clauses="fully_masked_row", report="microsoft/onnxruntime/pull/28958", mask=of_entries
        ),
        masking("dead_row_float", "A float mask of minus infinity leaves no key to the second query")(
            SMALL, report="pytorch/pytorch/pull/130014", clauses="fully_masked_row", mask=hidden
        ),
        masking("dead_row_steps", "Weights of zero and a logsumexp of minus infinity where no key is left")(
            SMALL, clauses="fully_masked_row", also="weights logsumexp", mask=hidden
        ),
        masking("dead_row_probe", "A row without keys beside rows whose weights are known")(
            rows, clauses="fully_masked_row", mask=open_mask & (np.arange(4) != 1)[:, np.newaxis], **probe(rows)
        ),
        masking(
            "dead_left_padding_and_causal",
            "Two padded keys on the left and causality leave no key to the first two queries",
        )(
            SMALL,
            clauses="fully_masked_row causal.top_left",
            report="huggingface/candle/pull/3625",
            mask=padded,
            is_causal=True,
            causal_alignment="top_left",
        ),
        masking("dead_padding_and_window", "Padded keys and a window leave no key to the first queries")(
            SMALL, clauses="fully_masked_row window.right", mask=padded, window=[1, 0], **BOTTOM
        ),
        masking("no_keys", "No key at all: zeros come out")(
            Sizes(3, 2, 2, 4, 0), clauses="no_keys", report="Dao-AILab/flash-attention/pull/2470"
        ),
        masking("no_keys_logsumexp", "No key at all: the logsumexp is minus infinity")(
            Sizes(2, 3, 3, 4, 0), clauses="no_keys", also="weights logsumexp"
        ),
        masking("no_keys_with_mask", "No key at all, and a mask without columns")(
            Sizes(3, 2, 2, 4, 0), clauses="no_keys", mask=np.ones((4, 0), np.bool_)
        ),
    )


def tile_cases() -> Iterator[AuthoredCase]:
    """Hide whole tiles, others for each head or each batch entry: which may be skipped is to be found for each."""
    for of_queries, of_keys in ((4, 16), (8, 32)):
        for kind, sizes in (
            ("heads", Sizes(1, 2, 2, 2 * of_queries + 1, 2 * of_keys + 3, 1)),
            ("batch_entries", Sizes(2, 1, 1, 2 * of_queries + 1, 2 * of_keys + 3, 1)),
        ):
            queries, keys = np.arange(sizes.queries)[:, np.newaxis], np.arange(sizes.keys)
            one = (queries // of_queries + keys // of_keys) % 2 == 0
            seen = np.stack([one, ~one])[np.newaxis] if kind == "heads" else np.stack([one, ~one])[:, np.newaxis]
            name = f"masking/tiles_of_{of_queries}_by_{of_keys}_for_{kind}"
            yield attention(
                name,
                f"Tiles of {of_queries} queries and {of_keys} keys are hidden, others for each of two "
                f"{kind.replace('_', ' ')}",
            )(sizes, clauses="mask.boolean mask.broadcast", mask=seen)


WIDER = Sizes(2, 1, 1, 3, 0, 2, 3)
NARROWER = Sizes(2, 1, 1, 3, 0, 2, 1)
GROUPED = Sizes(1, 2, 1, 3, 0, 1, 2)


def no_keys_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases without keys, each with one feature more."""
    past: dict[str, Any] = {name: np.zeros((2, 1, 0, width)) for name, width in (("past_key", 2), ("past_value", 1))}
    features: tuple[tuple[str, str, Sizes, dict[str, Any]], ...] = (
        ("wider", "values of three features", WIDER, {}),
        ("narrower", "values of one feature", NARROWER, {}),
        ("grouped", "grouped heads and values of two features", GROUPED, {}),
        ("key_lengths", "lengths that are all 0", WIDER, {"key_lengths": [0, 0]}),
        ("query_lengths", "lengths of queries", WIDER, {"query_lengths": [3, 1]}),
        ("causal", "causality", NARROWER, {"is_causal": True}),
        ("window", "a window", NARROWER, {"window": [1, 1]}),
        ("alibi", "distances", NARROWER, {"alibi_slopes": [0.5], "causal_alignment": TOP_LEFT}),
        ("softcap", "a softcap", NARROWER, {"softcap": 2.0}),
        ("scale", "a stated scale", NARROWER, {"scale": -1.0}),
        ("float_mask", "a float mask", NARROWER, {"mask": np.zeros((3, 0))}),
        ("past_of_none", "a past of none", NARROWER, past),
    )
    return tuple(
        masking(f"no_keys_{name}", f"No key at all, and {what}")(sizes, clauses="no_keys", **arguments)
        for name, what, sizes, arguments in features
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile masking."""
    return (
        *shape_cases(),
        *of_padded_keys(),
        *meaning_cases(),
        *number_cases(),
        *tile_cases(),
        *dead_row_cases(),
        *no_keys_cases(),
        *pairwise_cases("masking"),
    )
