"""Latents in pages: sequences of different lengths, of whole pages, of one token more and of one less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, TOP_CAUSAL, floats
from attnspec_authoring.recipes.attention.latent.latents import ABSORBED, NAIVE, Latents, latents
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

READ = "paged.pages paged.table paged.list paged.unread"


def _sizes(batch: int, keys: int, *, queries: int = 1, heads: int = 2) -> Latents:
    return Latents(batch=batch, heads=heads, queries=queries, keys=keys, latent=2, content=1, rotary=1, value=1)


ROWS: tuple[tuple[str, str, Latents, dict[str, Any]], ...] = (
    row("ends", "sequences that end one token before, at and one token behind the end of a page of 3 or 4")(
        _sizes(5, 9, heads=1), {"key_lengths": [4, 9, 3, 8, 5]}
    ),
    row("ends_of_12", "sequences that end one token before, at and one token behind the end of a page of 12")(
        _sizes(3, 13), {"key_lengths": [12, 13, 11]}
    ),
    row("ends_of_16", "sequences that end one token before, at and one token behind the end of a page of 16")(
        _sizes(3, 17, heads=1), {"key_lengths": [16, 17, 15]}
    ),
    row("unequal", "sequences of one, twenty and two tokens")(_sizes(3, 20, heads=1), {"key_lengths": [1, 20, 2]}),
    row("empty", "a sequence without tokens between others")(
        _sizes(3, 7), {"key_lengths": [5, 0, 7], "outputs": "logsumexp"}
    ),
    row("causal", "causal from the bottom right, with lengths of queries and tokens that differ")(
        _sizes(3, 11, queries=3),
        {
            "key_lengths": [11, 6, 9],
            "query_lengths": [2, 3, 1],
            **BOTTOM_CAUSAL,
            "changed_argument": ChangedArgument("query_lengths", reversed=True),
        },
    ),
    row("causal_decode", "causal from the bottom right, two queries for sequences of seven and four tokens")(
        _sizes(2, 7, queries=2, heads=1), {"key_lengths": [7, 4], **BOTTOM_CAUSAL}
    ),
    row("causal_top", "causal from the top left, with lengths that differ")(
        _sizes(2, 5, queries=5), {"key_lengths": [5, 3], "query_lengths": [4, 5], **TOP_CAUSAL}
    ),
    row("mask", "a float mask over heads and tokens")(_sizes(2, 8), {"key_lengths": [8, 5], "mask": floats(2, 1, 8)}),
    row("wide", "latents of six features and rotated keys of three")(
        Latents(batch=2, queries=1, keys=11, latent=6, content=2, rotary=3, value=2), {"key_lengths": [11, 4]}
    ),
)
"""Name, title, sizes, and what else the case has; each is one of the absorbed form."""

WITH_MATRICES = ("ends", "empty", "causal", "causal_decode", "wide")
"""Those that are cases of keys and values of heads, too: pages are read alike."""


UNREAD = {
    (ABSORBED, "ends"): 7,
    (ABSORBED, "ends_of_12"): 3,
    (ABSORBED, "ends_of_16"): 1,
    (ABSORBED, "unequal"): 2,
    (ABSORBED, "causal"): 3,
    (ABSORBED, "causal_decode"): 6,
    (ABSORBED, "wide"): 1,
    (NAIVE, "causal_decode"): 3,
}
"""Tokens behind the longest sequence: the number of all tokens is what makes a layout draw a page size."""


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of latents in pages, of both operations."""
    for of in (ABSORBED, NAIVE):
        for name, title, least, more in ROWS:
            sizes = replace(least, keys=least.keys + UNREAD.get((of, name), 0))
            if of == NAIVE and name not in WITH_MATRICES:
                continue
            position = " paged.position" if more.get("is_causal") else ""
            yield latents(f"paged_{of}_{name}", title)(sizes, of, clauses=READ + position, **more)
