"""Masks of Hugging Face Transformers, as its models make them: part of the adapter `transformers`.

========================== ==========================================================================
Argument                   Mapped to
========================== ==========================================================================
`attention_mask`           ``masking_utils.sdpa_mask`` with ``and_masks`` of
... `is_causal`            ``causal_mask_function``
... `window`               ``sliding_window_overlay`` of one more, for it counts the query's own
                           position; a function of this adapter for the right side
... `chunk`                ``chunked_overlay``
... `prefix_lengths`       ``or_masks`` of the causal function and one of this adapter
... documents              ``packed_sequence_mask_function`` where queries and keys are the same tokens
... starts                 the same by ``find_packed_sequence_indices`` of positions that begin anew
... lengths, padding       the two-dimensional mask of padding
========================== ==========================================================================

It has no draft trees, no tables of blocks, no lengths of queries, no numbers below 0 for tokens of no document, and
chunks that are not counted anew in each document.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import taking

__all__ = ["attention_mask"]

MaskFunction = Callable[[Any, Any, Any, Any], Any]

torch = import_library("torch", adapter="transformers")
masking = import_library("transformers.masking_utils", adapter="transformers")
tensors = import_library("attnspec.tensors.of_torch", adapter="transformers")

_BY_ENTRY = ("key_lengths", "left_padding", "prefix_lengths", "key_documents")


@taking(
    "key_lengths left_padding prefix_lengths query_documents key_documents query_starts key_starts "
    "key_length is_causal causal_alignment offset window chunk"
)
def attention_mask(given: SimpleNamespace) -> NDArray[Any]:
    """Return the Boolean mask of ``sdpa_mask``; `Unsupported` for documents of other queries than keys."""
    given.key_length = given.query_length if given.key_length is None else given.key_length
    batch = max([len(getattr(given, name)) for name in _BY_ENTRY if getattr(given, name) is not None] or [1])
    for name in _BY_ENTRY:
        array = getattr(given, name)
        if array is not None:
            setattr(given, name, np.broadcast_to(array, (batch, *array.shape[1:])))
    functions = [masking.bidirectional_mask_function, *_by_position(given, batch), *_by_document(given)]
    mask = masking.sdpa_mask(
        batch_size=batch,
        q_length=given.query_length,
        kv_length=given.key_length,
        mask_function=masking.and_masks(*functions),
        attention_mask=_padding(given, batch),
        allow_is_causal_skip=False,
    )
    return tensors.to_array(mask)


def _by_position(given: SimpleNamespace, batch: int) -> list[MaskFunction]:
    """Return the functions of causality, window and chunk, for queries that stand where the case positions them."""
    found: list[MaskFunction] = []
    if given.is_causal:
        found.append(masking.causal_mask_function)
    left, right = (None, None) if given.window is None else given.window
    if left is not None:
        found.append(masking.sliding_window_overlay(left + 1))
    if right is not None:
        found.append(lambda _b, _h, query, key: key <= query + right)
    if given.chunk is not None:
        if given.query_starts is not None:
            raise Unsupported("Transformers counts chunks through the documents of a row")
        padding = np.zeros(batch, dtype=np.int64) if given.left_padding is None else given.left_padding
        found.append(masking.chunked_overlay(given.chunk, tensors.to_tensor(padding)))
    first = tensors.to_tensor(np.broadcast_to(_first(given), (batch,)).astype(np.int64))
    moved = [_moved(function, first) for function in found]
    if given.is_causal and given.prefix_lengths is not None:
        lengths = tensors.to_tensor(given.prefix_lengths)

        def prefix(entry: Any, _head: Any, _query: Any, key: Any) -> Any:
            return key < lengths[entry]

        moved[0] = masking.or_masks(moved[0], prefix)
    return moved


def _first(given: SimpleNamespace) -> Any:
    """Return the position of the first query: a number, or one for each batch entry."""
    if given.causal_alignment == "top_left":
        return given.offset
    return (given.key_length if given.key_lengths is None else given.key_lengths) - given.query_length


def _moved(function: MaskFunction, first: Any) -> MaskFunction:
    """Return a function of masks for queries of which the first one stands elsewhere."""
    return lambda entry, head, query, key: function(entry, head, query + first[entry], key)


def _by_document(given: SimpleNamespace) -> list[MaskFunction]:
    """Return the function of packed sequences, or none."""
    if given.query_starts is not None:
        return [masking.packed_sequence_mask_function(_packed(given))]
    if given.query_documents is None:
        return []
    if not np.array_equal(given.query_documents, given.key_documents) or np.any(given.key_documents < 0):
        raise Unsupported("Transformers numbers the documents of one row of tokens, all of which have one")
    return [masking.packed_sequence_mask_function(tensors.to_tensor(given.key_documents))]


def _packed(given: SimpleNamespace) -> Any:
    """Return the document of each token, as Transformers finds it by positions that begin anew."""
    starts, length = given.query_starts, given.query_length
    if not np.array_equal(starts, given.key_starts) or starts[0] != 0 or starts[-1] != length:
        raise Unsupported("Transformers finds documents by the positions of one row of tokens, all of which have one")
    positions: NDArray[np.int64] = np.concatenate([np.arange(int(count)) for count in np.diff(starts)])
    found = masking.find_packed_sequence_indices(tensors.to_tensor(positions[np.newaxis]))
    # It finds None for a single document.
    return torch.zeros((1, length), dtype=torch.int64) if found is None else found


def _padding(given: SimpleNamespace, batch: int) -> Any:
    """Return the mask of padding (B, Sk), or None where every key counts."""
    if given.key_lengths is None and given.left_padding is None:
        return None
    keys: NDArray[np.int64] = np.arange(int(given.key_length))
    counts = np.ones((batch, given.key_length), dtype=np.bool_)
    if given.left_padding is not None:
        counts &= keys >= given.left_padding[:, np.newaxis]
    if given.key_lengths is not None:
        counts &= keys < given.key_lengths[:, np.newaxis]
    return tensors.to_tensor(counts)
