"""Profile cache: past keys and values, present ones, and buffers of which only the first keys count.

Lengths, masks, windows and scales are about what is attended. A cache from which the next call reads must not be
cleared, scaled or cut by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_RIGHT,
    HIDDEN,
    TOP_CAUSAL,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    coarse,
    counting,
    floats,
    probe,
    probe_sizes,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import headed, table
from attnspec_authoring.recipes.generator import decimals, grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

cache = profile("cache")

PAST = Sizes(3, 2, 2, 4, 4, past=3)
SMALL = Sizes(1, 2, 2, 4, 4, past=3)
UNEQUAL = Sizes(1, 2, 2, 4, 5, past=3)
PRESENT = ("output", "present_key", "present_value")
HIDDEN_NEWEST = (
    ("hidden", "nor some past ones", (1, 5), (1, 1, 0, 1, 0)),
    ("hidden_of_an_entry", "in one of three entries", (3, 1, 1, 5), (1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1)),
    ("hidden_of_entries", "in two of three entries", (3, 1, 1, 5), (0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1)),
)
"""Masks by which a new token sees past ones, and hardly itself: name, where, shape, and numbers."""
CONTINUED = Sizes(1, 2, 2, 6, 6)


def past_cases() -> tuple[AuthoredCase, ...]:
    """Hold pasts of several lengths, causal or not."""
    case = table(cache, clauses="past.position")
    two = Sizes(1, 2, 2, 3, 3, width=1, past=3)
    seen = probe_sizes(1, 2, 2, 4, 4, past=3)
    empty = Sizes(1, 2, 2, 4, 5)
    shapes = empty.shapes()
    # Equal scores and drawn values: the output shows which keys were attended.
    zeros, long = np.zeros((1, 1, 134, 1)), grid("causal/more_positions_than_a_byte", (1, 1, 134, 1))
    nothing: dict[str, Any] = {f"past_{name}": np.zeros((*shapes[name][:2], 0, 3)) for name in ("key", "value")}
    return (
        cache("past", "Three past keys, four new ones")(
            PAST, clauses="past.concatenation", changed_argument=ChangedArgument("past_key", reversed=True), revision=2
        ),
        cache("past_other_values", "Three past keys and four new ones, with other values")(
            SMALL, changed_argument=ChangedArgument("past_value", reversed=True), revision=2
        ),
        case("past_causal", "New tokens see the whole past and themselves")(
            PAST, report="hyprstream/hyprstream/pull/1521", is_causal=True
        ),
        case("past_causal_powers", "Three past and three new keys with powers of two as values")(
            two, report="pytorch/executorch/pull/21749", is_causal=True, **counting(two)
        ),
        case("past_causal_probe", "Which past and new keys are seen")(seen, is_causal=True, **probe(seen)),
        cache("decode", "One new token after four past ones")(
            Sizes(3, 2, 2, 1, 1, past=4), clauses="past.concatenation", is_causal=True
        ),
        cache("decode_not_causal", "One new token, not causal")(Sizes(3, 2, 2, 1, 1, past=4)),
        case("decode_before_more_keys", "One query, causal, before the last of four new keys")(
            Sizes(3, 2, 2, 1, 4, past=1), report="microsoft/onnxruntime/issues/29020", **TOP_CAUSAL
        ),
        cache("past_longer", "Nine past keys and four new ones")(Sizes(1, 2, 2, 4, 4, past=9), is_causal=True),
        cache("more_positions_than_a_signed_byte", "Positions beyond 127, behind a long past")(
            Sizes(1, 2, 1, 3, 4, width=1, past=130),
            query=np.zeros((1, 2, 3, 1)),
            key=zeros[:, :, 130:],
            value=long[:, :, 130:],
            past_key=zeros[:, :, :130],
            past_value=long[:, :, :130],
            **TOP_CAUSAL,
        ),
        cache("past_of_one", "A single past key")(Sizes(1, 2, 2, 4, 4, past=1), is_causal=True),
        cache("past_of_none", "A past of length zero is no past")(empty, clauses="past.concatenation", **nothing),
        *(
            case(
                f"unequal_{alignment}",
                f"Four queries, three past and five new keys, causal, {alignment.replace('_', '-')}",
            )(UNEQUAL, is_causal=True, causal_alignment=alignment)
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        cache("values_wider", "A past of values wider than the keys")(Sizes(1, 2, 2, 4, 4, 3, 5, 3), is_causal=True),
        cache("grouped", "A past of grouped heads")(Sizes(1, 6, 2, 4, 4, past=3), is_causal=True),
    )


def chunk_cases() -> tuple[AuthoredCase, ...]:
    """Cut six tokens into chunks: each gives the rows that all six give at once."""
    whole = CONTINUED.drawn("cache/six_tokens")
    made = [
        cache("six_tokens_at_once", "Six tokens at once, causal")(
            CONTINUED, clauses="causal.top_left", is_causal=True, **whole
        )
    ]
    for start, stop, title in (
        (2, 5, "The third to fifth of six tokens, the first two being past"),
        (4, 5, "The fifth of six tokens, four being past"),
        (1, 6, "The last five of six tokens, one being past"),
    ):
        pieces = {name: array[:, :, start:stop] for name, array in whole.items()}
        past = {f"past_{name}": whole[name][:, :, :start] for name in ("key", "value")}
        made.append(
            cache(f"six_tokens_from_{start}_to_{stop}", title)(
                CONTINUED,
                clauses="past.position past.concatenation",
                report="Mikyx-1/TinyLLM/pull/18" if start == 2 else None,
                is_causal=True,
                **pieces,
                **past,
            )
        )
    return tuple(made)


def mask_cases() -> tuple[AuthoredCase, ...]:
    """Put a past together with masks, windows and scales."""
    boolean, added = "cache/boolean_mask", "cache/float_mask"
    aligned, tiles = "cache/aligned_tiles", Sizes(1, 2, 2, 16, 16, 1, past=16)
    filled, of_one = "cache/one_query_fills_window", Sizes(1, 1, 1, 1, 1, 1, past=2)
    half_of_them = (np.arange(32) % 5 != 3) | (np.arange(32) % 3 == 0)
    return (
        attention(boolean, "A Boolean mask over past and new keys")(
            SMALL, clauses="past.concatenation mask.boolean", mask=booleans(1, 4, 7)
        ),
        attention(added, "A float mask over past and new keys")(
            SMALL, clauses="past.concatenation mask.additive", mask=floats(2, 4, 7)
        ),
        cache("mask_and_causal", "A mask and causality over past and new keys")(
            SMALL, clauses="past.position", report="huggingface/candle/pull/3743", is_causal=True, mask=booleans(4, 7)
        ),
        cache("window", "A window over past and new keys")(SMALL, window=[2, 1]),
        *(
            cache(f"decode_{name}", f"One new token that does not see itself, {where}")(
                Sizes(3, 2, 2, 1, 1, 2, past=4), mask=np.array(seen, np.bool_).reshape(shape)
            )
            for name, where, shape, seen in HIDDEN_NEWEST
        ),
        attention(filled, "One query whose past and key just fill the window, with distances")(
            of_one,
            report="huggingface/transformers/issues/37574",
            **coarse(filled, of_one),
            alibi_slopes=[0.5],
            window=[2, None],
        ),
        # Kernels have their fast paths where lengths are multiples of 16.
        attention(aligned, "16 queries behind a past of 16, with a window, distances to both sides and a mask")(
            tiles,
            report="intel/sycl-tla/pull/318",
            **coarse(aligned, tiles),
            mask=np.stack([half_of_them, half_of_them[::-1]]).reshape(2, 1, 32),
            alibi_slopes=[0.25, 0.5],
            window=[12, 4],
        ),
        cache("dead_row", "A mask leaves neither past nor new keys to the second query")(
            SMALL,
            clauses="fully_masked_row past.concatenation",
            mask=np.broadcast_to((np.arange(4) != 1)[:, np.newaxis], (4, 7)),
        ),
        cache("width_8", "A past of eight features")(Sizes(1, 2, 2, 4, 4, 8, past=3), is_causal=True),
        cache("scale", "A stated scale over past and new keys")(SMALL, scale=1.25),
        cache("scale_zero", "The scale zero over past and new keys")(SMALL, scale=0.0, is_causal=True),
    )


def buffer_cases() -> tuple[AuthoredCase, ...]:
    """Count only the first keys of a buffer, a number for each batch entry."""
    case = table(cache, clauses="key_lengths.exclusion")
    buffer = Sizes(3, 2, 2, 1, 7)
    several = Sizes(3, 1, 1, 4, 7)
    seen = probe_sizes(3, 1, 1, 4, 7)
    lengths = [7, 4, 5]
    clauses = ("sdpa.key_lengths.exclusion", "sdpa.key_lengths.alignment")
    aligned: dict[str, Any] = {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}
    return (
        case("buffer_decode", "One query against buffers of which seven, three and one key count")(
            buffer, report="tenstorrent/tt-metal/issues/41215", key_lengths=[7, 3, 1]
        ),
        cache("buffer_decode_causal", "One query at the last counted key of each buffer")(
            buffer, clauses=clauses, report="onnx/onnx/issues/8054", key_lengths=[7, 3, 1], **aligned
        ),
        cache("buffer_causal", "Four queries at the last four counted keys of each buffer")(
            several, clauses=clauses, report="microsoft/onnxruntime/pull/28958", key_lengths=lengths, **aligned
        ),
        cache("buffer_causal_probe", "Which keys of each buffer are seen")(
            seen, clauses=clauses, key_lengths=lengths, **aligned, **probe(seen)
        ),
        case("buffer_mask", "A mask over a buffer of which not all keys count")(
            several, key_lengths=lengths, mask=boolean_mask("cache/buffer_mask", (3, 1, 4, 7)) | (np.arange(7) == 0)
        ),
        cache("buffer_bias", "A bias over a buffer of which not all keys count, causal")(
            several, clauses=clauses, key_lengths=lengths, mask=floats(4, 7, hides=False), **aligned
        ),
        case("buffer_full", "Buffers of which every key counts")(several, key_lengths=[7, 7, 7]),
        case("buffer_grouped", "Buffers of grouped heads")(Sizes(2, 6, 3, 1, 5), key_lengths=[5, 2]),
    )


def divided_cases() -> tuple[AuthoredCase, ...]:
    """Divide eight tokens into past and new ones in several ways, for as many queries each time.

    Who keeps masks, positions or biases by the numbers of queries and of keys in all gives those of the case before.
    """
    features: dict[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "window": {"window": [1, 1]},
        "slopes": {"alibi_slopes": [0.5, 0.125, 1.0, 0.25, 0.0625]},
        "slopes_causal": {"alibi_slopes": [0.5, 0.125, 1.0, 0.25, 0.0625], "is_causal": True},
    }
    return tuple(
        cache(
            f"divided_{name}_after_{past}_{alignment}",
            f"Three queries on eight keys of which {past} are past, {name.replace('_', ' ')}, "
            f"{alignment.replace('_', ' ')}",
        )(Sizes(2, 5, 1, 3, 8 - past, past=past), also="logits logsumexp", causal_alignment=alignment, **arguments)
        for name, arguments in features.items()
        for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        for past in (0, 2, 4)
    )


ALONE = Sizes(2, 1, 1, 3, 4, 1)
AFTER_A_PAST = Sizes(2, 1, 1, 3, 3, 1, past=2)
EMPTY = Sizes(2, 1, 1, 3, 0, 1)


def of_all_digits() -> Iterator[AuthoredCase]:
    """Return numbers that use every digit of float64: what is stored loses none of them."""
    for name, what, sizes in (
        ("alone", "no past", Sizes(1, 2, 2, 3, 4, 2)),
        ("after_a_past", "a past", Sizes(1, 2, 2, 3, 4, 2, past=3)),
        ("of_one_token", "a past, and one new token", Sizes(3, 2, 1, 1, 1, 2, past=4)),
    ):
        case_id = f"cache/present_of_all_digits_{name}"
        drawn: dict[str, Any] = {
            tensor: decimals(f"{case_id}/{tensor}", shape) for tensor, shape in sizes.shapes().items()
        }
        yield attention(case_id, f"Keys and values of all digits, stored whole: {what}")(
            sizes, outputs=PRESENT, dtypes=("float64",), **drawn
        )


def features(sizes: Sizes) -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Return every feature by name, with what it is called and its arguments; hardly a key is seen by every query."""
    columns = np.arange(sizes.columns)
    ordinary = columns % 3 != 1
    # Behind a past, with as many new keys as queries, both alignments are one.
    placed = {} if sizes.past else {"causal_alignment": BOTTOM_RIGHT}
    return {
        "boolean_mask": ("a Boolean mask", {"mask": ordinary[np.newaxis]}),
        "float_mask": ("a float mask", {"mask": np.where(ordinary, 0.5, HIDDEN)[np.newaxis]}),
        "all_masked": ("a mask that excludes every key", {"mask": np.zeros((1, sizes.columns), np.bool_)}),
        "causal": ("causality", {"is_causal": True, **placed}),
        "window": ("a window", {"window": [0, 1], **placed}),
        "alibi": ("distances", {"alibi_slopes": [0.5], **placed}),
        "sinks": ("sinks", {"sinks": [0.5]}),
        "softcap": ("a softcap", {"softcap": 0.5}),
        "scale": ("a scale of minus two", {"scale": -2.0}),
        "scale_zero": ("the scale zero", {"scale": 0.0}),
    }


def lengths() -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Return lengths, which count only without a past."""
    return {
        "key_lengths": ("lengths of keys", {"key_lengths": [2, 0]}),
        "query_lengths": ("lengths of queries", {"query_lengths": [1, 2]}),
        "both_lengths": (
            "lengths of keys and queries, causal",
            {"key_lengths": [3, 1], "query_lengths": [2, 1], "is_causal": True, "causal_alignment": BOTTOM_RIGHT},
        ),
        "key_lengths_sinks": ("lengths of keys, and sinks", {"key_lengths": [1, 3], "sinks": [1.0]}),
        "key_lengths_mask": (
            "lengths of keys, and a mask",
            {"key_lengths": [4, 2], "mask": np.array([[True, False, True, True]])},
        ),
    }


@headed
def beside(name: str, title: str, sizes: Sizes, arguments: dict[str, Any]) -> AuthoredCase:
    """Make a case of present outputs."""
    case_id = f"cache/present_{name}"
    drawn = coarse(case_id, sizes)
    return attention(case_id, f"Present keys and values, {title}")(sizes, outputs=PRESENT, **(drawn | arguments))


def window_cases() -> tuple[AuthoredCase, ...]:
    """Let windows span a part of the keys alone: those that no later query can attend to are stored, too."""
    two: tuple[str, dict[str, Any]] = ("causality and a window of two keys", {"is_causal": True, "window": [1, 0]})
    all_but_one: tuple[str, dict[str, Any]] = (
        "causality and a window of all keys but one",
        {"is_causal": True, "window": [3, None]},
    )
    forward: tuple[str, dict[str, Any]] = ("a window that is open to the right", {"window": [1, None]})
    backward: tuple[str, dict[str, Any]] = ("a window that is open to the left", {"window": [None, 0]})
    alone, behind = Sizes(1, 2, 1, 3, 5, 1), Sizes(1, 2, 1, 4, 3, 1, past=2)
    placed = (
        ("beside_a_window_causal", alone, two, TOP_LEFT),
        ("beside_a_window_of_all_but_one", alone, all_but_one, BOTTOM_RIGHT),
        ("beside_a_window_forward", alone, forward, BOTTOM_RIGHT),
        ("beside_a_window_backward", alone, backward, TOP_LEFT),
        ("after_a_past_beside_a_window_causal", behind, two, TOP_LEFT),
        ("after_a_past_beside_a_window_causal", behind, two, BOTTOM_RIGHT),
        ("after_a_past_beside_a_window_of_all_but_one", behind, all_but_one, BOTTOM_RIGHT),
        ("after_a_past_beside_a_window_forward", behind, forward, TOP_LEFT),
        ("after_a_past_beside_a_window_backward", behind, backward, TOP_LEFT),
    )
    return (
        *(
            beside(
                f"{name}_{alignment}", f"{'a past and ' if sizes.past else ''}{what}, {alignment.replace('_', '-')}"
            )(sizes, {**arguments, "causal_alignment": alignment})
            for name, sizes, (what, arguments), alignment in placed
        ),
        beside("beside_a_window_square", "as many queries, causality and a window")(
            Sizes(1, 2, 1, 4, 4, 1), {"is_causal": True, "window": [2, 0]}
        ),
        beside("one_query_beside_a_window", "one query behind a past that a window cuts")(
            Sizes(2, 3, 1, 1, 1, 1, past=5), {"is_causal": True, "window": [2, 0]}
        ),
        beside("beside_a_window_and_key_lengths", "lengths of keys and a window that counts back from them")(
            Sizes(2, 1, 1, 3, 5, 1),
            {"is_causal": True, "window": [1, 0], "key_lengths": [5, 3], "causal_alignment": BOTTOM_RIGHT},
        ),
    )


def present_output_cases() -> tuple[AuthoredCase, ...]:
    """Return present outputs without a past and behind one, each beside one feature more."""
    alone = {**features(ALONE), **lengths()}
    return (
        *(beside(f"beside_{name}", what)(ALONE, arguments) for name, (what, arguments) in alone.items()),
        *(
            beside(f"after_a_past_beside_{name}", f"a past and {what}")(AFTER_A_PAST, arguments)
            for name, (what, arguments) in features(AFTER_A_PAST).items()
        ),
        beside("without_keys", "of which there are none")(EMPTY, {}),
        beside("after_a_past_of_none", "a past of none")(
            ALONE, {name: np.zeros((2, 1, 0, 1)) for name in ("past_key", "past_value")}
        ),
        beside("without_new_keys", "a past and no new keys")(Sizes(2, 1, 1, 3, 0, 1, past=3), {}),
        beside("one_query", "one query behind a past, grouped")(Sizes(2, 3, 1, 1, 1, 1, past=2), {}),
        *window_cases(),
        *of_all_digits(),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile cache."""
    case = table(cache, outputs=PRESENT)
    return (
        *past_cases(),
        # Return the past and the new keys and values, joined.
        case("present", "Past and new keys and values, joined")(
            Sizes(3, 2, 2, 1, 1, past=3), clauses="precision.dtype"
        ),
        case("present_causal", "Joined keys and values do not depend on causality")(SMALL, is_causal=True),
        case("present_after_one", "A past of one token, and values wider than the keys")(
            Sizes(1, 3, 1, 2, 2, 2, 3, 1), report="microsoft/onnxruntime/pull/27791"
        ),
        case("present_grouped", "Joined keys and values keep the shared heads")(Sizes(1, 6, 2, 3, 3, 3, 4, 2)),
        case("present_without_past", "Without a past the joined keys and values are the new ones")(
            Sizes(1, 2, 2, 4, 5), clauses="past.present", report="microsoft/onnxruntime/issues/26262"
        ),
        cache("steps", "Weights, logits and logsumexp over past and new keys")(
            Sizes(1, 2, 2, 4, 4, past=3), also="weights logsumexp scores logits", is_causal=True
        ),
        *present_output_cases(),
        *divided_cases(),
        *chunk_cases(),
        *mask_cases(),
        *buffer_cases(),
        *pairwise_cases("cache"),
    )
