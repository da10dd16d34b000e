"""Lengths of queries alone, of keys alone, and of both, where there are as many queries as keys and where not.

Code that takes one kind of lengths for the other goes wrong only where both have the same bound, and nothing else
hides what lies behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, attention, float_mask

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

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


def alone_cases() -> tuple[AuthoredCase, ...]:
    """Return each kind of lengths beside each feature that places queries, under both alignments where they differ."""
    made: list[AuthoredCase] = []
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
                    made.append(
                        attention(
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
                    )
    return tuple(made)


def coinciding_cases() -> tuple[AuthoredCase, ...]:
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
    made: list[AuthoredCase] = []
    for name, (what, lengths) in named.items():
        for feature, arguments in ways.items():
            made.append(
                attention(f"varlen/{name}{feature}", f"{what}{', causal, bottom right' if feature else ''}")(
                    sizes, **lengths, **arguments
                )
            )
    return tuple(made)


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
        attention(
            f"varlen/all_short_{name}", f"{what} that are fewer than there is room for in every entry, and every step"
        )(
            sizes,
            # Of queries that do not count no page owes the steps.
            outputs=("output", "weights") if "query_lengths" in arguments else STEPS,
            **arguments,
        )
        for name, (what, sizes, arguments) in named.items()
    )
