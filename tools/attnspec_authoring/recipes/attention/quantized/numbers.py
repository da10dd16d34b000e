"""Numbers of few bits, and scales for them.

Scales are unequal, differ from head to head and from batch entry to batch entry, and are no power of two unless a case
is about one: with scales of 1, most of what can go wrong with them does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import RUN_DTYPE, numpy_dtype
from attnspec_authoring.recipes.attention.attention import attention
from attnspec_authoring.recipes.authoring import headed
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.attention.attention import Sizes
    from attnspec_authoring.recipes.authoring import AuthoredCase

E4M3, E5M2, INT8 = "float8_e4m3fn", "float8_e5m2", "int8"
FORMATS: Mapping[str, str] = {"e4m3": E4M3, "e5m2": E5M2, "int8": INT8}
"""The formats, by the names that they have in ids of cases."""

KEY_SCALE, VALUE_SCALE, QUERY_SCALE = 0.0123, 0.37, 0.0275
KEY_SCALES, VALUE_SCALES, QUERY_SCALES = (0.0123, 0.0415), (0.37, 0.059), (0.0275, 0.0091)
KEY_SCALES_OF_BATCH = ((0.0123, 0.0415), (0.031, 0.0067))
VALUE_SCALES_OF_BATCH = ((0.37, 0.059), (0.0213, 3.1))
QUERY_SCALES_OF_BATCH = ((0.0275, 0.0091), (0.013, 0.046))
KEY_SCALES_OF_THREE = (*KEY_SCALES_OF_BATCH, (0.0181, 0.0532))
VALUE_SCALES_OF_THREE = (*VALUE_SCALES_OF_BATCH, (0.137, 1.9))
QUERY_SCALES_OF_THREE = (*QUERY_SCALES_OF_BATCH, (0.0337, 0.0191))


def as_scale(scale: Any) -> NDArray[np.float32]:
    """Return a scale as it is handed over, in float32."""
    return np.asarray(scale, dtype=np.float32)


def as_numbers(numbers: Any, dtype: str) -> NDArray[Any]:
    """Return numbers in a format, rounded to it."""
    return np.asarray(numbers, dtype=np.float64).astype(numpy_dtype(dtype))


def held(name: str, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Draw whole numbers from -126 to 126 that depend on a name alone, in a format: rounded to its significant bits."""
    return as_numbers(32.0 * grid(name, shape), dtype)


@headed
def quantized(
    name: str,
    title: str,
    sizes: Sizes,
    *,
    key: str | None = E4M3,
    value: str | None = E4M3,
    query: str | None = None,
    key_scale: Any = KEY_SCALE,
    value_scale: Any = VALUE_SCALE,
    query_scale: Any = QUERY_SCALE,
    given: Mapping[str, Any] | None = None,
    profile: str = "quantized",
    **others: Any,
) -> AuthoredCase:
    """Make a case of quantized tensors.

    Parameters
    ----------
    name, title, sizes
        Its name in its profile, its title, and the sizes of its tensors.
    key, value, query
        The formats of the tensors; None for one in the dtype of the run.
    key_scale, value_scale, query_scale
        Their scales; they are left out beside a tensor in the dtype of the run.
    given
        Tensors that are not drawn, by name: numbers, which are rounded to the format of their tensor.
    profile
        Another profile that the case belongs to.
    others
        What :func:`attention` takes beside.
    """
    case_id = f"{profile}/{name}"
    stated = given or {}
    formats = {"query": query, "key": key, "value": value}
    scales = {"query": query_scale, "key": key_scale, "value": value_scale}
    arguments: dict[str, Any] = {}
    for tensor, shape in sizes.shapes().items():
        kind = tensor.removeprefix("past_")
        dtype = formats[kind]
        if dtype is not None:
            drawn = held(f"{case_id}/{tensor}", shape, dtype)
            arguments[tensor] = as_numbers(stated[tensor], dtype) if tensor in stated else drawn
            arguments[f"{kind}_scale"] = as_scale(scales[kind])
        elif tensor in stated:
            arguments[tensor] = np.asarray(stated[tensor], dtype=np.float64)
    if query is not None:
        arguments["output_dtype"] = RUN_DTYPE
    return attention(case_id, title)(sizes, **arguments, **others)
