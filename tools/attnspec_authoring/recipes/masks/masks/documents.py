"""Masks by document: numbers of tokens, and where documents begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, FROM_THE_END, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

LEAK = "axolotl-ai-cloud/axolotl/pull/3796"
PADDING_SEES_ITSELF = "AI-Hypercomputer/maxtext/pull/4908"


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of documents."""
    yield from numbered()
    yield from by_starts()


def numbered() -> Iterator[AuthoredCase]:
    """Return documents by the numbers of their tokens."""
    rule = "documents"
    yield mask("documents_two", "two documents in a row")(5, rule, documents=[[0, 0, 1, 1, 1]])
    yield mask("documents_causal", "two documents in a row, looking back")(
        5, f"{rule} causal", documents=[[1, 1, 1, 2, 2]], report=LEAK, **CAUSAL
    )
    yield mask("documents_of_one_token", "each token a document of its own")(4, rule, documents=[[3, 1, 0, 2]])
    yield mask("documents_apart", "a document in two pieces")(6, rule, documents=[[5, 5, 2, 5, 2, 2]])
    yield mask("documents_apart_causal", "a document in two pieces, looking back")(
        6, f"{rule} causal", documents=[[0, 1, 0, 0, 1, 0]], **CAUSAL
    )
    yield mask("documents_falling", "numbers that fall")(4, f"{rule} causal", documents=[[9, 9, 4, 4]], **CAUSAL)
    yield mask("documents_zero", "number 0 is a document")(3, rule, documents=[[0, 0, 0]])
    yield mask("documents_none", "padding is of no document")(
        5, "documents no_document", documents=[[0, 0, 1, -1, -1]], report=PADDING_SEES_ITSELF
    )
    yield mask("documents_none_causal", "padding in front and between, looking back")(
        6, "documents no_document causal", documents=[[-1, 0, 0, -1, 1, 1]], **CAUSAL
    )
    yield mask("documents_none_differ", "two numbers below 0 are no documents either")(
        4, "no_document", documents=[[-2, -1, -2, 0]]
    )
    yield mask("documents_entries", "documents that differ by batch entry")(
        5, "documents batch", documents=[[0, 0, 0, 1, 1], [0, 1, 1, 1, 2]], report=LEAK, **CAUSAL
    )
    yield mask("documents_cross", "other documents of the queries than of the first keys")(
        (3, 5),
        "documents",
        query_documents=[[1, 2, 0]],
        key_documents=[[0, 0, 1, 2, 1]],
        changed_argument=ChangedArgument("query_documents", reversed=True),
    )
    yield mask("documents_bottom_right", "new tokens that go on with the last document")(
        (2, 6), "documents alignment", query_documents=[[1, 1]], key_documents=[[0, 0, 0, 1, 1, 1]], **FROM_THE_END
    )
    yield mask("documents_absent", "a query whose document has no key")(
        (2, 3), "documents", query_documents=[[7, 0]], key_documents=[[0, 0, 1]]
    )


def by_starts() -> Iterator[AuthoredCase]:
    """Return documents by where they begin."""
    rule, position = "starts", "starts starts_position"
    yield mask("starts_two", "two documents by their starts")(5, rule, starts=[0, 2, 5])
    yield mask("starts_causal", "three documents in a row, looking back")(
        6, f"{rule} causal", starts=[0, 1, 4, 6], report=LEAK, **CAUSAL
    )
    yield mask("starts_one", "one document is all of it")(3, f"{rule} causal", starts=[0, 3], **CAUSAL)
    yield mask("starts_unequal", "more keys than queries, positions begin anew")(
        (4, 7), f"{position} causal", query_starts=[0, 2, 4], key_starts=[0, 3, 7], **CAUSAL
    )
    yield mask("starts_bottom_right", "each document aligned by itself")(
        (4, 8), f"{position} alignment", query_starts=[0, 1, 4], key_starts=[0, 3, 8], **FROM_THE_END
    )
    yield mask("starts_decode", "one new token for each of three documents")(
        (3, 7), f"{position} alignment", query_starts=[0, 1, 2, 3], key_starts=[0, 2, 3, 7], **FROM_THE_END
    )
    yield mask("starts_more_queries", "more queries than keys in a document")(
        (5, 4), f"{position} alignment", query_starts=[0, 3, 5], key_starts=[0, 2, 4], **FROM_THE_END
    )
    yield mask("starts_empty_queries", "a document without queries")(
        (3, 6), f"{position} alignment", query_starts=[0, 1, 1, 3], key_starts=[0, 2, 4, 6], **FROM_THE_END
    )
    yield mask("starts_empty_keys", "a document without keys")(
        (4, 4), f"{rule} causal", query_starts=[0, 1, 3, 4], key_starts=[0, 2, 2, 4], **CAUSAL
    )
    yield mask("starts_end_early", "tokens behind the last document")(6, f"{rule} causal", starts=[0, 2, 4], **CAUSAL)
    yield mask("starts_begin_late", "tokens before the first document")(5, rule, starts=[1, 3, 5])
    yield mask("starts_end_early_unequal", "queries and keys behind the last document")(
        (5, 6), "starts starts_position", query_starts=[0, 1, 3], key_starts=[0, 2, 5], **BOTTOM_RIGHT
    )
    yield mask("starts_begin_late_causal", "tokens before the first document, looking back")(
        6, "starts causal", starts=[2, 4, 6], **CAUSAL
    )
    yield mask("starts_window", "windows around positions in each document")(
        (5, 7), f"{position} window", query_starts=[0, 2, 5], key_starts=[0, 3, 7], window=[1, 0], **BOTTOM_RIGHT
    )
    yield mask("starts_chunk", "chunks counted in each document")(
        7, f"{position} chunk", starts=[0, 3, 7], chunk=2, **CAUSAL
    )
    yield mask("starts_chunk_unequal", "chunks of documents with more keys than queries")(
        (4, 8), f"{position} chunk", query_starts=[0, 2, 4], key_starts=[0, 3, 8], chunk=2, **FROM_THE_END
    )
    yield mask("starts_window_open", "open back, a document with more queries than keys")(
        (6, 3), f"{position} window", query_starts=[0, 5, 6], key_starts=[0, 1, 3], window=[None, 0]
    )
    yield mask("starts_chunk_longer", "a chunk as long as a document, some queries in the next")(
        (5, 4), f"{position} chunk", query_starts=[0, 4, 5], key_starts=[0, 2, 4], chunk=2
    )
    yield mask("starts_of_none", "starts of no document")(3, rule, starts=[0], **FROM_THE_END)
