"""Tokens that are rounded to the few bits of a pool: scales, middles, ends, NaN and infinity.

Where a scale is no power of two, quotients stay far from the middles of two numbers, so that whoever multiplies by
the reciprocal gets the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import RecipeError
from attnspec.cases import ChangedArgument
from attnspec.contract.dtypes import numpy_dtype
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, row
from attnspec_authoring.recipes.caches.caches.slotting import slots
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

E4M3, E5M2, INT8 = "float8_e4m3fn", "float8_e5m2", "int8"
_LARGEST = {E4M3: 448.0, E5M2: 57344.0, INT8: 127.0}

MIDDLES = {
    E4M3: (1.0625, 1.1875, -1.0625, -1.3125, 2.0**-10, 3 * 2.0**-10, 9.5, 10.5),
    E5M2: (1.125, 1.375, -1.125, -1.625, 2.0**-17, 3 * 2.0**-17, 9.0, 11.0),
    INT8: (0.5, 1.5, -0.5, -2.5, 2.5, 3.5, 126.5, -127.5),
}
"""Quotients in the middle of two numbers, of which the even one is above as often as below."""

BETWEEN = {
    E4M3: (1.05, 1.1, -1.2, 2.3, 0.3, -5.2, 30.0, 0.004),
    E5M2: (1.05, 1.2, -1.3, 2.3, 0.3, -5.8, 29.0, 0.004),
    INT8: (0.4, 1.7, -0.7, -2.3, 2.8, 3.2, 100.7, -99.6),
}
"""Quotients between two numbers, nearer to the one or to the other."""

BEYOND = {
    E4M3: (448.0, 460.0, 464.0, -480.0, 900.0, -3000.0, 440.0, -447.0),
    E5M2: (57344.0, 60000.0, -61440.0, 57000.0, -57344.0, 50000.0, -60416.0, 62000.0),
    INT8: (127.0, 127.5, 128.0, -128.0, -128.5, -129.0, 300.0, -1000.0),
}
"""Quotients about the largest and the smallest number, and beyond both."""

OF_HALF_PRECISION = {
    E4M3: (131 / 256, (0.671875, -0.86328125, 110.0)),
    INT8: (35 / 64, (67.0, -38.0, -165.0)),
}
"""Scales with tokens: two quotients that half precision rounds to the middle of two numbers, one beyond the range
of int8."""

NONFINITE = (np.inf, -np.inf, np.nan, 1.0, np.nan, np.inf, -1.0, 2.0)


def of_quotients(quotients: Sequence[float], scale: float, bits: int = 8) -> NDArray[np.float64]:
    """Return tokens (2, 2, 2) that are about so many times a scale, in numbers of so many significant bits."""
    numbers = np.array(quotients) * scale
    fractions, exponents = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    rounded = np.ldexp(np.rint(np.ldexp(fractions, bits)), exponents - bits)
    return np.where(np.isfinite(numbers), rounded, numbers).reshape(2, 2, 2)


def away_from_middles(tokens: NDArray[np.float64], scale: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Return tokens, if a quotient that is off by a little is rounded to the same number."""
    quotients = tokens / scale[..., np.newaxis]
    ends = [
        np.clip(quotients * factor, -_LARGEST[dtype] - (dtype == INT8), _LARGEST[dtype]) for factor in (0.9999, 1.0001)
    ]
    lower, upper = ((np.rint(end) if dtype == INT8 else end).astype(numpy_dtype(dtype)) for end in ends)
    if not np.array_equal(lower.astype(np.float64), upper.astype(np.float64), equal_nan=True):
        raise RecipeError(f"{tokens.tolist()} over {scale.tolist()} come near the middle of two numbers of {dtype}.")
    return tokens


def pool_of(name: str, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Return a pool of small whole numbers."""
    return np.rint(grid(f"caches/{name}", shape) * 2).clip(-4, 4).astype(numpy_dtype(dtype))


def _quantized(
    name: str,
    title: str,
    dtype: str,
    key: NDArray[np.float64],
    value: NDArray[np.float64],
    scales: tuple[Any, Any],
    clauses: tuple[str, ...],
    **more: Any,
) -> AuthoredCase:
    """Make a case of two tokens."""
    key_scale, value_scale = (np.array(scale, dtype=np.float64) for scale in scales)
    given = {
        "key_pool": pool_of(f"{name}/key_pool", (2, 2, 2, 2), dtype),
        "value_pool": pool_of(f"{name}/value_pool", (2, 2, 2, 2), dtype),
        "key": key,
        "value": value,
        "key_scale": key_scale,
        "value_scale": value_scale,
    }
    for tokens, scale in ((key, key_scale), (value, value_scale)):
        if not np.all(np.frexp(scale)[0] == 0.5):
            away_from_middles(tokens, scale, dtype)
    common: dict[str, Any] = {"pool": (2, 2), "clauses": clauses, "given": given, **more}
    return slots(f"quantized_{name}", title)((2, 1), **common)


def _in_two_dtypes(key_dtype: str, value_dtype: str) -> AuthoredCase:
    """Make a case of quotients that half precision would round twice, in pools of two dtypes.

    Slots are those of a run at both ends: a token between is skipped.
    """
    words = [dtype.removeprefix("float8_").removesuffix("fn") for dtype in (key_dtype, value_dtype)]
    name = f"quantized_{words[0]}_beside_{words[1]}"
    given: dict[str, NDArray[Any]] = {}
    for which, dtype in (("key", key_dtype), ("value", value_dtype)):
        scale, numbers = OF_HALF_PRECISION[dtype]
        given |= {
            f"{which}_pool": pool_of(f"{name}/{which}_pool", (1, 3, 1, 1), dtype),
            which: away_from_middles(np.array(numbers).reshape(3, 1, 1), np.array(scale), dtype),
            f"{which}_scale": np.array(scale),
        }
    return slots(name, f"keys in {key_dtype}, values in {value_dtype}, quotients beside middles")(
        (0, -1, 2), (1, 3), clauses=("quantize", "saturate", "scale", "negative"), given=given
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of pools in few bits."""
    found: list[AuthoredCase] = []
    for dtype, word in ((E4M3, "e4m3"), (E5M2, "e5m2"), (INT8, "int8")):
        middle, between, beyond = (
            [of_quotients(table[dtype], scale) for scale in (0.5, 2.0)] for table in (MIDDLES, BETWEEN, BEYOND)
        )
        fit = EVERY_DTYPE if dtype != E5M2 else tuple(name for name in EVERY_DTYPE if name != "float16")
        one, two = (0.5, 2.0), ([0.5, 0.25], [2.0, 1.0])
        thirds = [away_from_middles(of_quotients(BETWEEN[dtype], 0.75), np.array(0.75), dtype), between[1]]
        rows = (
            row(f"{word}_middles", f"{dtype}: quotients in the middle of two numbers")(*middle, one, ("round",)),
            row(f"{word}_between", f"{dtype}: quotients between two numbers")(*between, one, ("quantize", "scale")),
            row(f"{word}_beyond", f"{dtype}: quotients beyond the largest number")(*beyond, one, ("saturate",)),
            row(f"{word}_per_head", f"{dtype}: a scale for each head")(*between, two, ("scale", "quantize")),
            row(f"{word}_three_quarters", f"{dtype}: a scale of 0.75")(*thirds, (0.75, 2.0), ("quantize", "round")),
        )
        rows = rows if dtype == E4M3 else rows[:4] if dtype == INT8 else rows[:3:2]
        for name, title, key, value, scales, clauses in rows:
            dtypes = fit if clauses == ("saturate",) else EVERY_DTYPE
            more = {"changed_argument": ChangedArgument("key_scale", reversed=True)} if scales is two else {}
            found.append(_quantized(name, title, dtype, key, value, scales, clauses, dtypes=dtypes, **more))
    for dtype, word in ((E4M3, "e4m3"), (E5M2, "e5m2")):
        tokens = of_quotients(NONFINITE, 0.5)
        name, title = f"{word}_nonfinite", f"{dtype}: NaN and infinity"
        found.append(_quantized(name, title, dtype, tokens, tokens[::-1].copy(), (0.5, 2.0), ("saturate",)))
    # Numbers of eleven bits, which bfloat16 does not hold, lie just above the middle of two.
    above = {
        E4M3: of_quotients((1.0625 + 2.0**-10, -1.1875 - 2.0**-10, *BETWEEN[E4M3][2:]), 0.5, bits=11),
        INT8: of_quotients((2.5 + 2.0**-9, -3.5 - 2.0**-8, 0.25, 1.75, 4.25, -6.75, 7.25, -0.75), 0.5, bits=11),
    }
    for dtype, tokens in above.items():
        name = f"{dtype.removeprefix('float8_').removesuffix('fn')}_above_the_middle"
        title = f"{dtype}: quotients just above the middle of two numbers"
        kept_in = tuple(each for each in EVERY_DTYPE if each != "bfloat16")
        clauses = ("quantize", "round")
        found.append(_quantized(name, title, dtype, tokens, tokens[::-1].copy(), (0.5, 0.5), clauses, dtypes=kept_in))
    return (*found, _in_two_dtypes(INT8, E4M3), _in_two_dtypes(E4M3, INT8))
