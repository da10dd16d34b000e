"""What attention refuses: inputs and attributes that do not fit together.

Each check raises one plain sentence that quotes what was given. Part of scaled dot-product attention, whose
page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Shape = tuple[int, ...]


def check_inputs(query: Shape, key: Shape, value: Shape) -> None:
    """Refuse shapes that do not fit together."""
    for name, shape in (("query", query), ("key", key), ("value", value)):
        if len(shape) != 4:
            raise ValueError(f"{name} has shape {shape}; it needs rank 4: (batch, heads, tokens, features).")
    shapes = f"query has shape {query}, key {key}, value {value}"
    if query[3] != key[3] or query[3] == 0:
        raise ValueError(f"{shapes}: query and key need the same number of features, at least one.")
    if not query[0] == key[0] == value[0]:
        raise ValueError(f"{shapes}: all three need the same batch size.")
    if key[1] != value[1] or query[1] % max(key[1], 1) or (query[1] and not key[1]):
        raise ValueError(f"{shapes}: key and value need the same number of heads, and query a multiple of that number.")
    if key[2] != value[2]:
        raise ValueError(f"{shapes}: key and value need the same number of tokens.")


def check_past(past_key: ArrayLike | None, past_value: ArrayLike | None, key: Shape, value: Shape) -> None:
    """Refuse a past of keys without values, and one that differs from key and value in more than its tokens."""
    if past_key is None and past_value is None:
        return
    if past_key is None or past_value is None:
        given, missing = ("past_value", "past_key") if past_key is None else ("past_key", "past_value")
        raise ValueError(f"{given} is given, but {missing} is not: a past needs both its keys and its values.")
    for name, past, new_name, new in (("past_key", past_key, "key", key), ("past_value", past_value, "value", value)):
        shape = np.shape(past)
        if len(shape) != 4 or shape[:2] != new[:2] or shape[3] != new[3]:
            raise ValueError(
                f"{name} has shape {shape}, {new_name} {new}: they may differ in the number of tokens alone."
            )
    if np.shape(past_key)[2] != np.shape(past_value)[2]:
        raise ValueError(
            f"past_key has shape {np.shape(past_key)}, past_value {np.shape(past_value)}: both need the same "
            "number of tokens."
        )


def check_lengths(name: str, given: ArrayLike | None, tokens: int, batch: int, *, past: bool) -> None:
    """Refuse lengths that are no whole numbers, one for each batch entry, from 0 to the number of tokens."""
    if given is None:
        return
    if past:
        raise ValueError(f"{name} and past_key are both given: state what is cached by one of them, not by both.")
    lengths = np.asarray(given)
    if lengths.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {lengths.dtype}; it needs whole numbers.")
    if lengths.shape != (batch,):
        raise ValueError(f"{name} has shape {lengths.shape}; a batch of {batch} needs {(batch,)}.")
    if np.any((lengths < 0) | (lengths > tokens)):
        raise ValueError(f"{name} is {lengths.tolist()}; each length must be between 0 and {tokens}.")


def check_one_for_each_head(name: str, given: ArrayLike | None, heads: int) -> None:
    """Refuse sinks or slopes that are not one for each query head."""
    if given is not None and np.shape(given) != (heads,):
        raise ValueError(f"{name} has shape {np.shape(given)}; {heads} query heads need {(heads,)}.")


def check_scale(name: str, given: ArrayLike | None, batch: int, heads: int) -> None:
    """Refuse scales of quantized numbers that do not match batch entries and key heads."""
    # None has the shape of one number, which fits.
    shape = np.asarray(given).shape
    broadcasts = all(axis in (1, length) for axis, length in zip(shape[::-1], (heads, batch), strict=False))
    if len(shape) > 2 or not broadcasts:
        raise ValueError(
            f"{name} has shape {shape}; a batch of {batch} with {heads} key heads needs (), {(heads,)} or "
            f"{(batch, heads)}."
        )


def check_mask(mask: ArrayLike | None, scores: Shape) -> None:
    """Refuse a mask that does not broadcast to the shape of the scores."""
    if mask is None:
        return
    mask = np.asarray(mask)
    if mask.dtype.kind in "iu":
        raise ValueError(f"mask has dtype {mask.dtype}; it needs truth values, or floats that are added to scores.")
    broadcasts = all(axis in (1, length) for axis, length in zip(mask.shape[::-1], scores[::-1], strict=False))
    if not 2 <= mask.ndim <= 4 or mask.shape[-1] != scores[-1] or not broadcasts:
        raise ValueError(
            f"mask has shape {mask.shape}, the scores {scores}: a mask has rank 2 to 4, one column for each "
            "key, and otherwise axes of the same length or of length 1, matched from the right."
        )


def check_alignment(causal_alignment: str) -> None:
    """Refuse an alignment that does not exist."""
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError(f"causal_alignment is {causal_alignment!r}; it must be 'top_left' or 'bottom_right'.")


def check_softcap(softcap: float | None) -> None:
    """Refuse a cap below 0, and one that is no finite number."""
    if softcap is not None and not 0 <= softcap < math.inf:
        raise ValueError(f"softcap is {softcap}; it must be a finite number above 0, or None or 0 for no cap.")


def check_window(window: Sequence[int | None] | None) -> None:
    """Refuse a window that is not a pair of distances."""
    if window is None:
        return
    sides: Any = window
    if not hasattr(sides, "__len__") or len(sides) != 2 or not all(is_distance(side) for side in sides):
        raise ValueError(
            f"window is {window!r}; it must be [left, right], each a whole number of at least 0, or None for an "
            "open side."
        )


def is_distance(side: Any) -> bool:
    """Say whether one side of a window is open or a distance."""
    return side is None or (isinstance(side, numbers.Integral) and int(side) >= 0)
