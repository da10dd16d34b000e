"""What goes wrong with documents: their numbers, and where they begin."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.masks.making_masks import beside_padding, of_first, right, steps
from attnspec_mistakes.masks.mask_rules import replacing_causality
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import altered, ignoring, ignoring_where
from attnspec_reference.masks.attention_mask import (
    attention_mask,
    document_of,
    first_in_document,
    same_document,
)
from attnspec_reference.precision import Booleans, Integers


def in_runs(documents: Integers) -> Integers:
    """Count the runs of equal numbers; tokens of no document stay so."""
    changes = np.diff(documents, axis=-1, prepend=documents[:, :1]) != 0
    return np.where(documents < 0, documents, np.cumsum(changes, axis=-1))


def first_queries_of_keys(of_query: Integers, of_key: Integers) -> Booleans:
    """Take the documents of the first keys for those of the queries."""
    rows = of_query.shape[-1]
    tiled = np.resize(of_key, (len(of_key), max(rows, of_key.shape[-1])))[:, :rows] if of_key.size else of_query
    return same_document(tiled, of_key)


def none_is_equal_to_none(of_query: Integers, of_key: Integers) -> Booleans:
    """Compare numbers alone, also those below 0."""
    return of_query[:, :, np.newaxis] == of_key[:, np.newaxis, :]


def zero_is_none(of_query: Integers, of_key: Integers) -> Booleans:
    """Take number 0 for padding."""
    return same_document(np.where(of_query == 0, -1, of_query), of_key)


def earlier_documents_too(of_query: Integers, of_key: Integers) -> Booleans:
    """Let a document see those with smaller numbers."""
    query, key = of_query[:, :, np.newaxis], of_key[:, np.newaxis, :]
    return (key <= query) & (key >= 0)


def started_late(tokens: Integers, starts: Integers) -> Integers:
    """Let a document begin one token behind its start."""
    return document_of(tokens - 1, starts)


def to_the_end(tokens: Integers, starts: Integers) -> Integers:
    """Count tokens behind the last end as of the last document."""
    return np.minimum(np.searchsorted(starts, tokens, side="right") - 1, len(starts) - 2)[np.newaxis]


def from_the_beginning(tokens: Integers, starts: Integers) -> Integers:
    """Count tokens before the first start as of the first document."""
    document = document_of(tokens, starts)
    return np.where(tokens < starts[0], 0, document)


def without_empty(tokens: Integers, starts: Integers) -> Integers:
    """Count the documents that have tokens, one after the other."""
    document = document_of(tokens, starts)
    return np.where(document >= 0, np.cumsum(np.diff(starts) > 0)[document] - 1, -1)


def aligned_by_all(queries: Integers, query_starts: Integers, key_starts: Integers, alignment: str) -> Integers:
    """Add the surplus of all keys over all queries in every document."""
    if alignment != "bottom_right":
        return first_in_document(queries, query_starts, key_starts, alignment)
    return np.full((1, len(queries)), key_starts[-1] - query_starts[-1])


def by_starts_of_queries(**arguments: Any) -> Any:
    """Cut the keys where the queries are cut."""
    if "query_starts" not in arguments:
        return right(**arguments)
    keys = arguments.get("key_length")
    most = arguments["query_length"] if keys is None else keys
    return right(**{**arguments, "key_starts": np.minimum(arguments["query_starts"], most)})


FUNCTIONS: Mapping[str, Making] = {
    "attention_mask.documents_ignored": ignoring(attention_mask, "query_documents", "key_documents"),
    "attention_mask.documents_ignored_beside_padding": ignoring_where(
        attention_mask, beside_padding, "query_documents", "key_documents"
    ),
    "attention_mask.documents_in_runs": altered(attention_mask, query_documents=in_runs, key_documents=in_runs),
    "attention_mask.documents_of_first_keys": steps(same_document=first_queries_of_keys),
    "attention_mask.no_document_sees_itself": steps(same_document=none_is_equal_to_none),
    "attention_mask.document_zero_is_none": steps(same_document=zero_is_none),
    "attention_mask.earlier_documents_seen": steps(same_document=earlier_documents_too),
    "attention_mask.documents_of_first_entry": of_first("query_documents", "key_documents"),
    "attention_mask.documents_replace_causality": replacing_causality("query_documents"),
    "attention_mask.starts_ignored": ignoring(attention_mask, "query_starts", "key_starts"),
    "attention_mask.starts_one_late": steps(document_of=started_late),
    "attention_mask.last_document_to_the_end": steps(document_of=to_the_end),
    "attention_mask.first_document_from_the_beginning": steps(document_of=from_the_beginning),
    "attention_mask.empty_documents_left_out": steps(document_of=without_empty),
    "attention_mask.starts_of_queries_for_keys": by_starts_of_queries,
    "attention_mask.positions_counted_through": steps(
        within_document=lambda tokens, _starts: tokens[np.newaxis],
        first_in_document=lambda queries, query_starts, key_starts, alignment: np.full(
            (1, len(queries)), key_starts[-1] - query_starts[-1] if alignment == "bottom_right" else 0
        ),
    ),
    "attention_mask.documents_aligned_by_all": steps(first_in_document=aligned_by_all),
    "attention_mask.documents_always_top_left": steps(
        first_in_document=lambda queries, *_given: np.zeros((1, len(queries)), dtype=np.int64)
    ),
    "attention_mask.starts_replace_causality": replacing_causality("query_starts"),
}
