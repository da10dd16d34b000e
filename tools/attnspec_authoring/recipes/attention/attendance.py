"""Which keys a query may attend to, and on which conventions the golden values of a case therefore depend.

This reads the rules of the spec page once more, apart from the reference and the oracle: a case that says of itself
on what it depends must not learn it from the code that it is to test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ALIGNMENTS = ("top_left", "bottom_right")


@dataclass(frozen=True)
class Attendance:
    """Who attends to whom in one case."""

    attended: NDArray[np.bool_]
    graded: NDArray[np.bool_]
    offsets: NDArray[np.int64]

    @property
    def dead(self) -> NDArray[np.bool_]:
        """Whether a graded query may attend to no key (B, Hq, Sq)."""
        return ~self.attended.any(axis=-1) & self.graded[:, np.newaxis]


def attendance(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], alignment: str | None = None
) -> Attendance:
    """Return which keys may be attended, under the alignment of the case or another one."""
    batch, heads, queries = inputs["query"].shape[:3]
    past = inputs["past_key"].shape[2] if "past_key" in inputs else 0
    keys = past + inputs["key"].shape[2]
    key_lengths = _lengths(inputs, "key_lengths", keys)
    query_lengths = _lengths(inputs, "query_lengths", queries)
    aligned = alignment or attributes.get("causal_alignment", "top_left")
    offsets = np.full(batch, past, dtype=np.int64) if aligned == "top_left" else key_lengths - query_lengths
    rows: NDArray[np.int64] = np.arange(queries, dtype=np.int64)
    column: NDArray[np.int64] = np.arange(keys, dtype=np.int64)
    position: NDArray[np.int64] = (rows + offsets[:, np.newaxis])[:, np.newaxis, :, np.newaxis]
    counted: NDArray[np.bool_] = column < key_lengths.reshape(-1, 1, 1, 1)
    attended = np.broadcast_to(counted, (batch, heads, queries, keys)).copy()
    mask = inputs.get("mask")
    if mask is not None:
        attended &= mask if mask.dtype == np.bool_ else mask != -np.inf
    if attributes.get("is_causal"):
        attended &= column <= position
    left, right = attributes.get("window") or (None, None)
    if left is not None:
        attended &= column >= position - left
    if right is not None:
        attended &= column <= position + right
    graded: NDArray[np.bool_] = rows < query_lengths.reshape(-1, 1)
    return Attendance(attended, graded, offsets)


def _lengths(inputs: Mapping[str, NDArray[Any]], name: str, whole: int) -> NDArray[np.int64]:
    """Return the lengths of a case, or the whole length for each batch entry."""
    if name in inputs:
        given: NDArray[np.int64] = inputs[name]
        return given
    batch: int = inputs["query"].shape[0]
    return np.full(batch, whole, dtype=np.int64)


def is_positional(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> bool:
    """Return whether it matters where a query stands among the keys."""
    return bool(attributes.get("is_causal") or attributes.get("window") or "alibi_slopes" in inputs)


def depends_on_alignment(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> bool:
    """Return whether top-left and bottom-right alignment give different results."""
    if not is_positional(inputs, attributes):
        return False
    first, second = (attendance(inputs, attributes, alignment) for alignment in ALIGNMENTS)
    if "alibi_slopes" in inputs and (first.offsets != second.offsets).any():
        return True
    graded = np.broadcast_to(first.graded[:, np.newaxis, :, np.newaxis], first.attended.shape)
    return bool((graded & (first.attended != second.attended)).any())


def holds_nonfinite(inputs: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether an input holds NaN or an infinity; minus infinity in a mask is a word of it."""
    unmasked = (np.where(np.isneginf(array), 0, array) if name == "mask" else array for name, array in inputs.items())
    return any(not np.isfinite(array).all() for array in unmasked)


def excludes_nonfinite(inputs: Mapping[str, NDArray[Any]], seen: Attendance) -> bool:
    """Return whether some graded query may not attend to a key or value that holds NaN or an infinity."""
    joined = [
        np.concatenate([inputs[f"past_{name}"], inputs[name]], axis=2) if f"past_{name}" in inputs else inputs[name]
        for name in ("key", "value")
    ]
    nonfinite = np.any([~np.isfinite(tensor).all(axis=-1) for tensor in joined], axis=0)
    group = inputs["query"].shape[1] // max(inputs["key"].shape[1], 1)
    stored = np.repeat(nonfinite, group, axis=1)[:, :, np.newaxis]
    return bool((stored & ~seen.attended & seen.graded[:, np.newaxis, :, np.newaxis]).any())


def conventions(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], outputs: tuple[str, ...]
) -> tuple[str, ...]:
    """Name the conventions on which the stored outputs of a case of scaled dot-product attention depend."""
    seen = attendance(inputs, attributes)
    has_keys = seen.attended.shape[-1] > 0
    dead = bool(seen.dead.any()) and "sinks" not in inputs
    alive = "sinks" in inputs or bool((seen.attended.any(axis=-1) & seen.graded[:, np.newaxis]).any())
    sensitive = {
        "alibi_bias": "alibi_slopes" in inputs and bool({"logits", "logsumexp"} & set(outputs)),
        "causal_alignment": depends_on_alignment(inputs, attributes),
        "empty_logsumexp": dead and "logsumexp" in outputs,
        "fully_masked_row": dead and has_keys,
        "logsumexp_base": alive and "logsumexp" in outputs,
        "masked_nonfinite": excludes_nonfinite(inputs, seen),
        "no_keys": bool(seen.dead.any()) and not has_keys,
        "nonfinite_input": holds_nonfinite(inputs),
    }
    return tuple(sorted(name for name, depends in sensitive.items() if depends))
