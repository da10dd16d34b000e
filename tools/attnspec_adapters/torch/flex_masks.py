"""Masks of FlexAttention: one ``mask_mod`` for all rules, for ``create_mask`` and ``create_block_mask``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from attnspec.tensors.libraries import import_library
from attnspec.tensors.of_torch import to_array, to_tensor, torch
from attnspec_adapters.composing import taking
from attnspec_adapters.torch.kernels import TorchAdapter

MaskMod = Callable[[Any, Any, Any, Any], Any]
Position = Callable[[Any, Any], Any]

flex = import_library("torch.nn.attention.flex_attention", adapter="torch-flex")

_INPUTS = (
    *("key_lengths", "query_lengths", "left_padding", "prefix_lengths", "query_documents", "key_documents"),
    *("query_starts", "key_starts", "parents", "attended_blocks"),
)
_BY_ENTRY = (*_INPUTS[:6], "parents")


class FlexMasks(TorchAdapter):
    """Masks alone."""

    @taking(
        "key_lengths query_lengths left_padding prefix_lengths query_documents key_documents query_starts key_starts "
        "parents attended_blocks key_length is_causal causal_alignment offset window chunk attended_block_size "
        "block_size"
    )
    def attention_mask(self, given: SimpleNamespace) -> dict[str, Any]:
        """Return `mask`, and the lists of a ``BlockMask``."""
        for name in _INPUTS:
            array = getattr(given, name)
            setattr(given, name, None if array is None else to_tensor(array, self._device))
        given.key_length = given.query_length if given.key_length is None else given.key_length
        table = given.attended_blocks
        if table is not None:
            given.attended_blocks = table[(None,) * (4 - table.ndim)]
        batch = max([len(getattr(given, name)) for name in _BY_ENTRY if getattr(given, name) is not None] or [1])
        heads = 1 if table is None else given.attended_blocks.shape[1]
        batch = batch if table is None else max(batch, len(given.attended_blocks))
        shape = (batch, heads, given.query_length, given.key_length)
        allowed = flex.and_masks(*_expanded(given, batch))
        mask = flex.create_mask(allowed, *shape, device=self._device)
        blocks = flex.create_block_mask(allowed, *shape, device=self._device, BLOCK_SIZE=tuple(given.block_size))
        lists = {
            "block_counts": blocks.kv_num_blocks,
            "block_indices": blocks.kv_indices,
            "full_counts": blocks.full_kv_num_blocks,
            "full_indices": blocks.full_kv_indices,
        }
        return {name: to_array(tensor) for name, tensor in {"mask": mask, **lists}.items()}


def _expanded(given: SimpleNamespace, batch: int) -> list[MaskMod]:
    """Return the functions of all rules; inputs of one batch entry are repeated for all."""
    for name in _BY_ENTRY:
        tensor = getattr(given, name)
        if tensor is not None:
            setattr(given, name, tensor.expand(batch, *tensor.shape[1:]))
    positions = _by_document(given) if given.query_starts is not None else _by_entry(given)
    found = [_always, *_near(given, *positions)]
    if given.query_documents is not None:
        found.append(_same_document(given.query_documents, given.key_documents))
    if given.parents is not None:
        found.append(_on_branch(_ancestors(given.parents), positions[0]))
    if given.left_padding is not None:
        found.append(lambda b, _h, _q, k: k >= given.left_padding[b])
    if given.key_lengths is not None:
        found.append(lambda b, _h, _q, k: k < given.key_lengths[b])
    if given.query_lengths is not None:
        found.append(lambda b, _h, q, _k: q < given.query_lengths[b])
    if given.attended_blocks is not None:
        rows, columns = given.attended_block_size
        blocks = (-(-given.query_length // rows), -(-given.key_length // columns))
        table = given.attended_blocks.expand(batch, -1, *blocks)
        found.append(lambda b, h, q, k: table[b, h, q // rows, k // columns])
    return found


def _always(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    return (query >= 0) & (key >= 0)


def _index(_batch: Any, token: Any) -> Any:
    return token


def _by_entry(given: SimpleNamespace) -> tuple[Position, Position]:
    """Return the positions of queries and keys as functions of batch entry and index."""
    first: Any = given.offset
    if given.causal_alignment == "bottom_right":
        first = given.key_length if given.key_lengths is None else given.key_lengths
        first = first - (given.query_length if given.query_lengths is None else given.query_lengths)

    def position(batch: Any, query: Any) -> Any:
        return query + (first if isinstance(first, int) else first[batch])

    return position, _index


def _by_document(given: SimpleNamespace) -> tuple[Position, Position]:
    """Return positions that begin anew in each document, and number the documents on the way."""
    of_query, queries = _numbered(given.query_starts, given.query_length)
    of_key, keys = _numbered(given.key_starts, given.key_length)
    given.query_documents, given.key_documents = of_query[None], of_key[None]
    if given.causal_alignment == "bottom_right":
        # Tokens of no document, numbered -1, find the 0 at the end.
        surplus = torch.nn.functional.pad(torch.diff(given.key_starts) - torch.diff(given.query_starts), (0, 1))
        queries = queries + surplus[of_query]

    def in_table(table: Any) -> Position:
        def position(_batch: Any, token: Any) -> Any:
            return table[token]

        return position

    return in_table(queries), in_table(keys)


def _numbered(starts: Any, length: int) -> tuple[Any, Any]:
    """Return the document of each token, -1 for none, and its index there."""
    token = torch.arange(length, device=starts.device)
    document = torch.searchsorted(starts, token, right=True) - 1
    document = torch.where(document < len(starts) - 1, document, -1)
    return document, token - starts[document]


def _near(given: SimpleNamespace, p: Position, k: Position) -> list[MaskMod]:
    """Return the functions of causality with its prefix, of the window, and of chunks."""
    found: list[MaskMod] = []
    if given.is_causal:

        def causal(b: Any, _h: Any, q: Any, key: Any) -> Any:
            return k(b, key) <= p(b, q)

        def prefix(b: Any, _h: Any, _q: Any, key: Any) -> Any:
            return key < given.prefix_lengths[b]

        found.append(causal if given.prefix_lengths is None else flex.or_masks(causal, prefix))
    left, right = (None, None) if given.window is None else given.window
    if left is not None:
        found.append(lambda b, _h, q, key: k(b, key) >= p(b, q) - left)
    if right is not None:
        found.append(lambda b, _h, q, key: k(b, key) <= p(b, q) + right)
    if given.chunk is not None:

        def chunked(b: Any, _h: Any, q: Any, key: Any) -> Any:
            start = 0 if given.left_padding is None else given.left_padding[b]
            return (k(b, key) - start) // given.chunk == (p(b, q) - start) // given.chunk

        found.append(chunked)
    return found


def _same_document(of_query: Any, of_key: Any) -> MaskMod:
    # Starts are those of all batch entries, of which there is one.
    return lambda b, _h, q, k: (of_query[b, q] == of_key[b, k]) & (of_query[b, q] >= 0)


def _ancestors(parents: Any) -> Any:
    """Return which drafts each draft comes from, itself among them (B, T, T)."""
    tokens = parents.shape[1]
    reached = torch.arange(tokens, device=parents.device).expand(parents.shape)
    ancestors = torch.zeros(*parents.shape, tokens + 1, dtype=torch.bool, device=parents.device)
    for _ in range(tokens):
        ancestors.scatter_(2, torch.where(reached >= 0, reached, tokens)[..., None], True)
        reached = torch.where(reached >= 0, parents.gather(1, reached.clamp(min=0)), -1)
    return ancestors[..., :tokens]


def _on_branch(ancestors: Any, position: Position) -> MaskMod:
    """Return the function of a draft tree whose first draft stands at the position of the first query."""
    tokens = ancestors.shape[-1]

    def on_branch(b: Any, _h: Any, q: Any, k: Any) -> Any:
        draft = k - position(b, 0)
        index = torch.clamp(draft, 0, tokens - 1)
        return (draft < 0) | ((draft >= 0) & (draft < tokens) & ancestors[b, q, index])

    return on_branch
