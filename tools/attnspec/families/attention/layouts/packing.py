"""Attention in the layout ``packed``: the tokens of all sequences behind one another, without padding.

=============== ============= ======================================================================
Argument        Shape         Meaning
=============== ============= ======================================================================
`query`         (Tq, Hq, E)   the queries of the first sequence, then those of the second, ...
`key`           (Tk, Hkv, E)  keys likewise, past ones before the new ones of their sequence
`value`         (Tk, Hkv, Ev) values likewise
`query_starts`  (B + 1)       where the queries of each sequence begin; Tq at last
`key_starts`    (B + 1)       where its keys and values begin; Tk at last
=============== ============= ======================================================================

It gives `output` (Tq, Hq, Ev) and `logsumexp` (Tq, Hq).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract.arrangement import Repacked
from attnspec.families.attention.layouts.sequences import OPERATION, arranged_as_given, sequences_of, wrong_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.contract.arrangement import Circumstances
    from attnspec.families.record import Arrays

_REPACKED = ("query", "key", "value", "past_key", "past_value", "key_lengths", "query_lengths")
_MADE_FROM = {
    "query": ("query",),
    "key": ("key", "past_key"),
    "value": ("value", "past_value"),
    "query_starts": ("query_lengths",),
    "key_starts": ("key_lengths",),
}


def packed(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances
) -> Repacked | str | None:
    """Put the sequences of a batch behind one another."""
    if operation != OPERATION:
        return None
    sequences = sequences_of(inputs, attributes, circumstances, _REPACKED)
    if isinstance(sequences, str):
        return sequences
    query, value = inputs["query"], inputs["value"]
    batch, heads, queries, _ = query.shape
    counted: NDArray[np.bool_] = np.less(np.arange(int(queries)), sequences.query_lengths[:, np.newaxis])

    def restore(outputs: Arrays) -> Arrays | str:
        problem = wrong_outputs(outputs, (int(np.count_nonzero(counted)), heads), value.shape[3])
        if problem is not None:
            return problem
        restored: dict[str, NDArray[Any]] = {}
        for name, rows in outputs.items():
            padded = np.zeros((batch, queries, *rows.shape[1:]), dtype=rows.dtype)
            padded[counted] = rows
            restored[name] = padded.swapaxes(1, 2)
        return restored

    by_token = {
        "query": np.ascontiguousarray(query.swapaxes(1, 2)[counted]),
        "key": _behind_one_another(sequences.keys, inputs["key"]),
        "value": _behind_one_another(sequences.values, value),
        "query_starts": _starts(sequences.query_lengths),
        "key_starts": _starts(sequences.key_lengths),
    }
    others = {name: array for name, array in inputs.items() if name not in _REPACKED}
    laid_out = arranged_as_given(by_token, _MADE_FROM, inputs, swapped=(0, 1))
    return Repacked({**laid_out, **others}, sequences.attributes, restore)


def _behind_one_another(sequences: Sequence[NDArray[Any]], like: NDArray[Any]) -> NDArray[Any]:
    """Return (T, H, E) from each sequence's (H, L, E)."""
    none = np.zeros((0, like.shape[1], like.shape[3]), dtype=like.dtype)
    return np.concatenate([none, *(sequence.swapaxes(0, 1) for sequence in sequences)])


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
