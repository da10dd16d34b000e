"""Profile paged: what shows in layouts of serving, which hold keys and values in pages, or packed.

In the contract's own layout these are sequences of different lengths, like those of the profile varlen. What they are
there for shows in the layouts of serving: lengths of a whole number of pages, of one key more and of one less, whatever
the page size of the layout; no keys, and no queries; positions that are distinguished from pages; many sequences; and
pages that belong to several of them.

Who does not read the pages before a window must not count keys from the first page that is read. Each page size meets
each of these things; the number of keys is what makes a layout draw that page size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP,
    TOP_CAUSAL,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    coarse,
    float_mask,
    floats,
    profile,
)
from attnspec_authoring.recipes.authoring import row, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

paged = profile("paged")

BOTH_OUTPUTS = ("output", "logsumexp")

PACKED = ("sdpa.packed.starts", "sdpa.packed.output")
READ = (
    "sdpa.paged.pages",
    "sdpa.paged.table",
    "sdpa.paged.table_length",
    "sdpa.paged.list",
    "sdpa.paged.list_length",
    "sdpa.paged.page_size",
    "sdpa.paged.tokens_first",
    "sdpa.paged.heads_first",
    "sdpa.paged.unread",
)
SERVED = (*PACKED, *READ)
POSITION = ("sdpa.packed.position", "sdpa.paged.position")
EMPTY = ("sdpa.packed.empty", "sdpa.paged.empty", "sdpa.paged.list_empty")


def end_cases() -> tuple[AuthoredCase, ...]:
    """End sequences with a page, one key before and one key behind its end."""
    case = table(paged, clauses=("sdpa.key_lengths.exclusion", *SERVED))
    return (
        case(
            "ends_of_pages",
            "Sequences that end one key before, at and one key behind the end of a page of 4 or 16 keys",
        )(Sizes(6, 2, 1, 1, 17, 1), report="vllm-project/flash-attention/issues/42", key_lengths=[16, 5, 17, 4, 15, 3]),
        case(
            "ends_of_uneven_pages",
            "Sequences that end one key before, at and one key behind the end of a page of 3 or 12 keys",
        )(Sizes(5, 2, 1, 1, 25, 1), outputs=BOTH_OUTPUTS, key_lengths=[12, 25, 11, 24, 13]),
        paged(
            "ends_of_pages_of_12",
            "Sequences that end one key before, at and one key behind the end of a page of 3 or 12 keys, grouped",
        )(Sizes(6, 6, 2, 1, 13, 1), clauses=("sdpa.heads.grouped", *SERVED), key_lengths=[2, 13, 3, 12, 4, 11]),
        case(
            "ends_of_pages_of_16",
            "Sequences that end one key before, at and one key behind the end of a page of 16 keys",
        )(Sizes(4, 2, 1, 1, 33, 1), key_lengths=[16, 33, 15, 32]),
        case(
            "ends_of_pages_of_64",
            "Sequences that end one key before, at and one key behind the end of a page of 64 keys, in one head",
        )(Sizes(3, 1, 1, 1, 65, 2), key_lengths=[64, 65, 63]),
        case(
            "ends_of_long_pages",
            "Sequences that end one key before, at and one key behind the end of a page of 64 keys",
        )(Sizes(3, 2, 1, 1, 65, 1), outputs=BOTH_OUTPUTS, key_lengths=[64, 65, 63]),
        case("very_unequal", "Sequences of one, forty and two keys")(
            Sizes(3, 2, 1, 1, 40, 1, 3), key_lengths=[1, 40, 2]
        ),
        case("heads_as_slots", "As many heads as a page of four has slots")(
            Sizes(2, 4, 4, 1, 7, 1), key_lengths=[7, 5]
        ),
        paged(
            "grouped_decode", "One query for each of three sequences, in six heads that share two, over several pages"
        )(Sizes(3, 6, 2, 1, 18, 2), clauses=("sdpa.heads.grouped", *SERVED), key_lengths=[16, 15, 17]),
    )


def position_cases() -> tuple[AuthoredCase, ...]:
    """Position queries and keys by their own sequences, whatever pages they lie in."""
    case = table(paged, clauses=(*POSITION, *SERVED))
    lengths: dict[str, Any] = {"query_lengths": [2, 4, 3], "key_lengths": [17, 6, 11]}
    sizes = Sizes(3, 2, 1, 4, 17, 2)
    return (
        case("causal_bottom", "Causal from the bottom right, with lengths of queries and keys that differ")(
            sizes, **BOTTOM_CAUSAL, **lengths
        ),
        case("causal_top", "Causal from the top left, with lengths of queries and keys that differ")(
            Sizes(3, 2, 2, 5, 9, 2), **TOP_CAUSAL, query_lengths=[5, 2, 4], key_lengths=[9, 8, 3]
        ),
        case(
            "window_across_pages",
            "A window of six keys that begins in one page and ends in another, over more than two pages",
        )(Sizes(2, 3, 1, 5, 38, 2), window=[5, 0], **BOTTOM, key_lengths=[21, 38], query_lengths=[5, 4]),
        case("alibi", "Distances that are counted across pages, from the bottom right")(
            Sizes(3, 2, 1, 4, 21, 1), alibi_slopes=[0.5, 0.125], **BOTTOM, key_lengths=[9, 21, 16]
        ),
        paged("sinks_causal", "Sinks beside causality, over several pages")(
            Sizes(4, 2, 2, 3, 13, 2),
            clauses=(*POSITION, "sdpa.sinks.denominator", *SERVED),
            outputs=BOTH_OUTPUTS,
            sinks=[1.0, -0.5],
            **BOTTOM_CAUSAL,
            key_lengths=[13, 9, 4, 12],
            query_lengths=[3, 2, 3, 1],
        ),
        paged("past_causal", "A past of seven keys and three new ones, in the same pages")(
            Sizes(2, 4, 1, 3, 3, 2, 1, past=7), clauses=(*POSITION, "sdpa.past.concatenation", *SERVED), is_causal=True
        ),
        *(
            paged(
                f"decode_in_a_window{name}", f"One query for each sequence, whose window begins and ends in pages{of}"
            )(
                sizes := Sizes(len(lengths), heads, 1, 1, lengths[0], 1),
                clauses=("sdpa.paged.pages", *POSITION),
                also="logsumexp",
                window=[11, 0],
                **BOTTOM,
                key_lengths=lengths,
                **coarse(f"paged/decode_in_a_window{name}", sizes),
            )
            for name, of, heads, lengths in (
                ("", "", 2, [74, 27, 19, 14]),
                ("_of_128", " of 128 keys", 3, [266, 134]),
                ("_of_256", " of 256 keys", 3, [267, 133]),
            )
        ),
        paged("mask_of_keys", "A float mask for each head over keys of which not all count")(
            Sizes(3, 2, 1, 4, 10, 2, 1),
            clauses=("sdpa.mask.additive", *SERVED),
            mask=floats(2, 1, 10, hides=False),
            key_lengths=[10, 4, 7],
            query_lengths=[1, 4, 2],
        ),
    )


_PREFIXES = (
    row("causal", "Three sequences that begin with the same 24 keys, whose queries stand among these, causal")(
        Sizes(3, 2, 1, 5, 27, 2),
        24,
        POSITION,
        {"is_causal": True, "causal_alignment": TOP_LEFT, "key_lengths": [27, 25, 26]},
    ),
    row(
        "causal_inside",
        "Three sequences that begin with the same 32 keys, among which most queries stand, causal, bottom right",
    )(
        Sizes(3, 2, 1, 12, 35, 1),
        32,
        POSITION,
        {"is_causal": True, "causal_alignment": BOTTOM_RIGHT, "key_lengths": [35, 33, 34]},
    ),
    row("causal_of_all", "Two sequences of the same 16 keys and one key more, one query fewer, causal, bottom right")(
        Sizes(2, 1, 1, 16, 17, 1),
        16,
        POSITION,
        {"is_causal": True, "causal_alignment": BOTTOM_RIGHT, "key_lengths": [17, 17]},
    ),
    row(
        "causal_without_a_tail",
        "Two sequences of the same 16 keys, of which the first ends there, causal, bottom right",
    )(
        Sizes(2, 1, 1, 6, 19, 1),
        16,
        POSITION,
        {"is_causal": True, "causal_alignment": BOTTOM_RIGHT, "key_lengths": [16, 19]},
    ),
    row("window", "Two sequences that begin with the same 12 keys, and a window that reaches back into these")(
        Sizes(2, 2, 1, 3, 16, 1),
        12,
        POSITION,
        {"window": [6, 0], "causal_alignment": BOTTOM_RIGHT, "key_lengths": [16, 14]},
    ),
    row(
        "decode", "One query for each of four sequences, of which three begin with the same 48 keys, and one ends there"
    )(Sizes(4, 2, 1, 1, 50, 1), 48, (), {"key_lengths": [50, 48, 49, 3]}),
    row("unfinished", "Three sequences, of which the others are the beginning of the first and end within a page")(
        Sizes(3, 2, 1, 1, 23, 2), 23, (), {"key_lengths": [23, 22, 5]}
    ),
    row(
        "unfinished_causal",
        "Two sequences, of which the second is the beginning of the first and ends within a page, causal",
    )(
        Sizes(2, 1, 1, 4, 14, 1),
        14,
        POSITION,
        {"is_causal": True, "causal_alignment": BOTTOM_RIGHT, "key_lengths": [14, 10]},
    ),
    row(
        "unfinished_wide",
        "Two sequences of wide keys, of which the second is the beginning of the first and ends within a page",
    )(Sizes(2, 3, 3, 4, 45, 5, 6), 45, (), {"key_lengths": [45, 29]}),
)


def _with_prefix(name: str, shape: tuple[int, ...], shared: int) -> NDArray[np.float64]:
    drawn = grid(name, shape)
    drawn[:, :, :shared] = drawn[:1, :, :shared]
    return drawn


CLAUSES = ("sdpa.paged.position", "sdpa.packed.position", "sdpa.paged.page_size")


class _Pages(NamedTuple):
    """A page size, and sequences of which a window leaves whole pages out."""

    size: int
    left: int
    shorter: int


_EVERY_SIZE = (
    _Pages(1, 1, 5),
    _Pages(3, 2, 8),
    _Pages(4, 3, 10),
    _Pages(12, 5, 20),
    _Pages(16, 6, 25),
    _Pages(64, 9, 76),
)

_KEYS: Mapping[str, tuple[int, ...]] = {
    "float_mask": (11, 15, 18, 34, 43, 147),
    "boolean_mask": (15, 16, 19, 33, 46, 146),
    "alibi": (11, 29, 16, 33, 53, 173),
    "everything": (9, 18, 18, 44, 48, 144),
}
"""How many keys the longer sequence has, for each page size."""


def _float_mask(name: str, pages: _Pages, keys: int) -> dict[str, Any]:
    return {"mask": float_mask(name, (2, 1, keys)), "window": [pages.left, None]}


def _boolean_mask(name: str, pages: _Pages, keys: int) -> dict[str, Any]:
    return {"mask": boolean_mask(name, (1, keys)), "window": [pages.left, 0], "is_causal": True}


def _alibi(_name: str, pages: _Pages, _keys: int) -> dict[str, Any]:
    return {"alibi_slopes": [0.5, 0.125], "window": [pages.left, 1]}


def _everything(name: str, pages: _Pages, keys: int) -> dict[str, Any]:
    return {
        "mask": float_mask(name, (1, 2, 1, keys), hides=False),
        "window": [pages.left + 1, None],
        "is_causal": True,
        "alibi_slopes": [0.0625, 0.25],
        "sinks": [0.5, -0.5],
        "softcap": 1.5,
        "query_lengths": [2, 1],
    }


_BESIDE: Mapping[str, tuple[str, Callable[[str, _Pages, int], dict[str, Any]]]] = {
    "float_mask": ("a float mask for each head", _float_mask),
    "boolean_mask": ("a Boolean mask and causality", _boolean_mask),
    "alibi": ("distances", _alibi),
    "everything": ("a float mask, distances, sinks and a softcap", _everything),
}


def beside_windows() -> Iterator[AuthoredCase]:
    """Return each thing in each page size."""
    for feature, (words, arguments) in _BESIDE.items():
        for pages, keys in zip(_EVERY_SIZE, _KEYS[feature], strict=True):
            case_id = f"paged/window_{feature}_{pages.size}"
            sizes = Sizes(2, 2, 1, 2, keys, 1)
            yield attention(case_id, f"A window that leaves out whole pages of {pages.size}, beside {words}")(
                sizes,
                clauses=CLAUSES,
                also="logsumexp",
                **BOTTOM,
                key_lengths=[keys, pages.shorter],
                **coarse(case_id, sizes),
                **arguments(case_id, pages, keys),
            )


_FROM_THE_TOP: tuple[tuple[int, str, str, dict[str, Any]], ...] = (
    (9, "mask", "a float mask", {"mask": float_mask("paged/window_of_9_queries_mask", (1, 10))}),
    (14, "mask", "a Boolean mask", {"mask": boolean_mask("paged/window_of_14_queries_mask", (1, 15))}),
    (9, "alibi", "distances and a sink", {"alibi_slopes": [0.25], "sinks": [0.5]}),
    (15, "alibi", "distances and a softcap", {"alibi_slopes": [0.25], "softcap": 1.0}),
)


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    case = table(paged, outputs=BOTH_OUTPUTS)
    return (
        *end_cases(),
        # Leave sequences without keys, or without queries.
        case("no_keys", "Sequences without keys before, between and behind others")(
            Sizes(5, 1, 1, 2, 9, 2, 3),
            clauses=(*EMPTY, "sdpa.fully_masked_row", "sdpa.logsumexp.fully_masked_row", *SERVED),
            key_lengths=[0, 4, 0, 9, 0],
        ),
        case("no_keys_sinks", "Sequences without keys beside sinks")(
            Sizes(4, 2, 1, 1, 17, 1),
            clauses=(*EMPTY, "sdpa.sinks.fully_masked_row", *SERVED),
            key_lengths=[8, 0, 17, 1],
            sinks=[0.5, -1.0],
        ),
        paged("no_queries", "Sequences without queries before and between others, causal")(
            Sizes(4, 1, 1, 3, 12, 2),
            clauses=(*EMPTY, *POSITION, *SERVED),
            query_lengths=[0, 3, 0, 2],
            key_lengths=[5, 12, 8, 4],
            **BOTTOM_CAUSAL,
        ),
        *position_cases(),
        # Put many sequences, many queries, or sequences of equal length into a batch.
        case("nine_sequences", "Nine sequences, of which two have no keys")(
            Sizes(9, 2, 1, 1, 13, 1), clauses=(*EMPTY, *SERVED), key_lengths=[3, 13, 0, 6, 1, 12, 4, 0, 7]
        ),
        paged(
            "seventeen_sequences",
            "Seventeen sequences of different length, of which each third one has one query and the others two, causal",
        )(
            Sizes(17, 1, 1, 2, 7, 1),
            clauses=(*POSITION, *SERVED),
            **BOTTOM_CAUSAL,
            query_lengths=[1 if entry % 3 == 0 else 2 for entry in range(17)],
            key_lengths=[1 + (5 * entry) % 7 for entry in range(17)],
        ),
        paged("equal_lengths", "Four sequences of 24 keys each, which fill their pages")(
            Sizes(4, 2, 2, 1, 24, 1), clauses=SERVED
        ),
        paged("queries_67", "Sixty-seven queries in one sequence and two in the other, causal")(
            Sizes(2, 1, 1, 67, 9, 1),
            clauses=(*POSITION, *SERVED),
            **TOP_CAUSAL,
            query_lengths=[67, 2],
            key_lengths=[9, 5],
        ),
        # Let sequences begin with the same keys and values, which stand in the same pages.
        *(
            paged(f"shared_prefix_{name}", title)(
                sizes,
                clauses=("sdpa.paged.shared", *clauses, *SERVED),
                key=_with_prefix(f"paged/shared_prefix_{name}/key", sizes.shapes()["key"], shared),
                value=_with_prefix(f"paged/shared_prefix_{name}/value", sizes.shapes()["value"], shared),
                **others,
            )
            for name, title, sizes, shared, clauses, others in _PREFIXES
        ),
        *beside_windows(),
        # Return windows of queries that stand pages behind each other, from the top left.
        *(
            paged(
                f"window_of_{queries}_queries_{name}",
                f"{queries} queries, each of which leaves out other pages, beside {words}",
            )(
                Sizes(2, 1, 1, queries, queries + 1, 1),
                clauses=CLAUSES,
                also="logsumexp",
                window=[2, 1],
                **TOP,
                key_lengths=[queries + 1, queries - 2],
                **arguments,
            )
            for queries, name, words, arguments in _FROM_THE_TOP
        ),
    )
