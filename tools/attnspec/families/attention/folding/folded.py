"""Arguments of a plain attention that stand for those it lacks. Pure functions over NumPy arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnspec.base.errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.families.attention.steps.attendance import Attendance

Masks = Literal["both", "boolean", "float"]
"""Which masks a function takes; with both, numbers are used only where something must be added."""

RANK = 4

_ROUNDED = 1e-15
"""Twice what a product and a square root may be off by in float64, relative to their value."""


def folded_mask(
    places: Attendance,
    mask: NDArray[Any] | None,
    alibi_slopes: NDArray[Any] | None,
    dtype: np.dtype[Any],
    masks: Masks = "both",
) -> NDArray[Any] | None:
    """Fold exclusions, a mask (rank 2 to 4) and ALiBi slopes (H,) into one mask of rank 4, axes (B, H, Sq, K) or 1.

    None where every key may be attended and nothing is added. Biases are summed in float64 and rounded to `dtype` once.
    Raises `Unsupported` if numbers must be added but no float mask is taken, or if they exceed the dtype's largest.
    """
    attendable: NDArray[np.bool_] = places.attendable
    bias: NDArray[Any] | None = None
    if mask is not None:
        mask = mask.reshape((1,) * (RANK - mask.ndim) + mask.shape)
        if mask.dtype == np.bool_:
            attendable = attendable & mask
        else:
            bias = mask.astype(np.float64)
    if alibi_slopes is not None:
        lowered = alibi_slopes.astype(np.float64).reshape(-1, 1, 1) * places.distance
        bias = -lowered if bias is None else bias - lowered
    if bias is not None and masks == "boolean" and np.all((bias == 0) | np.isneginf(bias)):
        attendable, bias = attendable & (bias == 0), None
    if places.padding is not None:
        # These rows are not graded; attending to everything, they divide by no sum of nothing.
        beyond = places.padding[..., np.newaxis]
        attendable, bias = attendable | beyond, None if bias is None else np.where(beyond, 0.0, bias)
    if bias is None:
        if mask is None and attendable.all():
            return None
        return np.where(attendable, 0.0, -np.inf).astype(dtype) if masks == "float" else attendable
    if masks == "boolean":
        raise Unsupported("the function takes no float mask, which a bias needs")
    with np.errstate(over="ignore"):
        rounded = np.where(attendable, bias, -np.inf).astype(dtype)
    if np.any(attendable & np.isfinite(bias) & np.isinf(rounded)):
        raise Unsupported(f"the biases come to more than {dtype.name} holds, so that one mask cannot say them")
    return rounded


def repeated_heads(query: NDArray[Any], key: NDArray[Any], value: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return key and value with a head for each query head: query head h reads head h // (Hq / Hkv).

    Raises `ValueError` if the query heads are no multiple of the key and value heads.
    """
    heads, shared = query.shape[1], key.shape[1]
    if shared == heads == value.shape[1]:
        return key, value
    if shared != value.shape[1] or not shared or heads % shared:
        raise ValueError(
            f"query has {heads} heads, key {shared} and value {value.shape[1]}: key and value need the same number of "
            "heads, and query a multiple of it."
        )
    return np.repeat(key, heads // shared, axis=1), np.repeat(value, heads // shared, axis=1)


def rescaled_query(query: NDArray[Any], scale: float) -> NDArray[Any]:
    """Return a query (..., E) that the factor 1/sqrt(E) scales as `scale` would.

    Raises `Unsupported` if that would round it: the missing factor is neither 0 nor a power of two, or leaves the
    range.
    """
    missing = scale * math.sqrt(query.shape[-1])
    power = math.copysign(2.0 ** round(math.log2(abs(missing))), missing) if missing else 0.0
    if math.isclose(missing, power, rel_tol=_ROUNDED):
        if power == 1:
            return query
        with np.errstate(all="ignore"):
            factor = query.dtype.type(power)
            rescaled = query * factor
            if not power or np.array_equal(rescaled / factor, query, equal_nan=True):
                return rescaled
    raise Unsupported(f"the function has no scale, and a scale of {scale:g} would round the query")
