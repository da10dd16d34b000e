"""Making a case of a mask from a row: lengths, rules, arrays of whole numbers, and which outputs are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import AuthoredCase, Source, headed, reported
from attnspec_reference import attention_mask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MADE = Source(section="made for the profile masks")
LISTS = ("block_counts", "block_indices", "full_counts", "full_indices")
ARRAYS = (
    *("key_lengths", "query_lengths", "left_padding", "prefix_lengths", "query_documents", "key_documents"),
    *("query_starts", "key_starts", "parents", "attended_blocks"),
)
BOTTOM_RIGHT: dict[str, Any] = {"causal_alignment": "bottom_right"}
CAUSAL: dict[str, Any] = {"is_causal": True}
FROM_THE_END: dict[str, Any] = {**CAUSAL, **BOTTOM_RIGHT}
"""Causality with the last query at the last key."""


@headed
def mask(
    name: str,
    title: str,
    lengths: int | tuple[int, int],
    clauses: str,
    *,
    report: str | None = None,
    outputs: Sequence[str] = ("mask",),
    documents: Sequence[Sequence[int]] | None = None,
    starts: Sequence[int] | None = None,
    **stated: Any,
) -> AuthoredCase:
    """Make a case of so many queries (and keys); clauses are named without the operation, arrays as nested lists.

    `documents` and `starts` are those of queries and keys alike.
    """
    queries, keys = (lengths, None) if isinstance(lengths, int) else lengths
    for given, kind in ((documents, "documents"), (starts, "starts")):
        if given is not None:
            stated |= {f"{side}_{kind}": given for side in ("query", "key")}
    fields = {key: stated.pop(key) for key in ("memory_order", "changed_argument", "rejects") if key in stated}
    inputs = {key: np.array(stated.pop(key)) for key in ARRAYS if key in stated}
    attributes = {"query_length": queries, **({} if keys is None else {"key_length": keys}), **stated}
    if "rejects" not in fields and _moves(inputs, attributes):
        attributes["causal_alignment"] = "top_left"
        # The cases of 0.2.0 left it out, and so accused functions that align bottom-right.
        fields["revision"] = 2
    lists = ("mask", *LISTS) if "block_size" in stated else tuple(outputs)
    return AuthoredCase(
        id=f"masks/{name}",
        title=f"Attention mask: {title}",
        operation="attention_mask",
        clauses=tuple(f"attention_mask.{clause}" for clause in clauses.split()),
        source=MADE if report is None else reported(report),
        inputs=inputs,
        attributes=attributes,
        outputs=lists,
        dtypes=(),
        **fields,
    )


def _moves(inputs: Mapping[str, Any], attributes: Mapping[str, Any]) -> bool:
    """Return whether an alignment that is not stated matters; beside an offset the other one would be refused."""
    if "causal_alignment" in attributes:
        return False
    if "offset" in attributes:
        return True
    here, there = (attention_mask(**inputs, **attributes, **other)[0] for other in ({}, BOTTOM_RIGHT))
    return not np.array_equal(here, there)
