"""Form and meaning of a layer's masks, by what they do to the shares of keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.finding.probes import shares
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_reading import MaskForm

_FORMS = ("b1qk", "bqk", "nqk", "qk", "b11k", "b1k", "bk")
"""Axes of masks, the most general first."""

_QUERY, _KEY = 3, 1
"""The row and column whose entry differs from all others; the key lies before the query, so that causality lets it."""

_ADDED = -3.0
_BATCH, _KEYS = 3, 5

_SEEN = 1e-6
"""Change of a share that is no rounding, and is still seen of a mask that hides by a small number."""


def mask_found(runner: LayerRunner, form: MaskForm, dtype: str, heads: bool) -> tuple[MaskForm | None, str | None]:
    """Return a mask with its form and meaning, None where no form is taken, and what was not clear about it."""
    base = shares(runner, dtype, {}, batch=_BATCH, keys=_KEYS)
    if form.meaning == "lengths":
        return _lengths_found(runner, form, dtype, base)
    taken: MaskForm | None = None
    for axes in _FORMS:
        for numbers in ("bool", "int64", "float"):
            tried = replace(form, axes=axes, numbers=numbers)
            found = _meaning(runner, tried, dtype, base)
            if found is None:
                continue
            if found.meaning:
                found = _with_heads(runner, found, dtype) if heads else found
                return replace(found, repeats=_repeats(runner, found, dtype, heads=heads)), None
            taken = taken or found
    if taken is None:
        return None, f"no mask that was tried is taken as {form.name}"
    unclear = f"{form.name} changes nothing, so that it is taken to be 1 where a key may be attended"
    return replace(taken, meaning="attend"), unclear


def _lengths_found(
    runner: LayerRunner, form: MaskForm, dtype: str, base: NDArray[Any] | None
) -> tuple[MaskForm | None, str | None]:
    """Return lengths as a mask, where they are taken; not clear is one that changes nothing."""
    found = shares(runner, dtype, {form.name: np.arange(1, _BATCH + 1)}, batch=_BATCH, keys=_KEYS)
    if found is None:
        return None, f"no lengths that were tried are taken as {form.name}"
    is_unseen = base is not None and np.array_equal(found, base)
    return form, f"{form.name} changes nothing, so that it is taken for lengths of keys" if is_unseen else None


def _meaning(runner: LayerRunner, form: MaskForm, dtype: str, base: NDArray[Any] | None) -> MaskForm | None:
    """Return a form with its meaning; an empty meaning where it changes nothing, None where it is not taken."""
    added = _changes(runner, form, _mask(form, np.float64, _ADDED), dtype, base)
    if added is not None and _is_added(added):
        plain = _changes(runner, form, _mask(form, np.bool_, True), dtype, base)
        # True that is added as 1 is no truth value.
        if plain is None or abs(plain[1] - np.e * plain[0]) < _SEEN * plain[0]:
            return replace(form, meaning="add", numbers="bool")
        return replace(form, meaning="hide" if plain[1] < plain[0] else "attend", numbers="bool", adds=True)
    changed = _changes(runner, form, _mask(form, form.numbers, 1), dtype, base)
    if changed is None:
        return None
    others, one = changed
    if one < others * (1 - _SEEN):
        return replace(form, meaning="hide")
    if one > others * (1 + _SEEN):
        return replace(form, meaning="attend")
    return replace(form, meaning="")


def _mask(form: MaskForm, numbers: Any, at: Any) -> NDArray[Any]:
    lengths = {"b": _BATCH, "n": _BATCH, "h": 1, "q": _KEYS, "k": _KEYS, "1": 1}
    mask = np.zeros([lengths[letter] for letter in form.axes], np.float64 if numbers == "float" else numbers)
    # Marked in both orders, what it means is seen of a mask, too, that is read transposed.
    turned = ({"q": _KEY, "k": _QUERY},) if "q" in form.axes else ()
    for index in ({"q": _QUERY, "k": _KEY}, *turned):
        mask[tuple(index.get(letter, slice(None)) for letter in form.axes)] = at
    return mask


def _changes(
    runner: LayerRunner, form: MaskForm, mask: NDArray[Any], dtype: str, base: NDArray[Any] | None
) -> tuple[float, float] | None:
    """Return by which factors a mask changes the shares of another key and of the one that it marks."""
    given = mask.astype(dtype) if mask.dtype.kind == "f" else mask
    found = shares(runner, dtype, {form.name: given}, batch=_BATCH, keys=_KEYS)
    if found is None:
        return None
    row, before = found[0, _QUERY], np.ones(_KEYS) if base is None else base[0, _QUERY]
    with np.errstate(all="ignore"):
        factors = row / before
    others = np.delete(factors, [_KEY])[0]
    one = factors[_KEY]
    if np.isnan(others) or np.isnan(one):
        # All other keys are hidden where the marked one alone may be attended, and its own row says so.
        return None
    return float(others), float(one)


def _is_added(changes: tuple[float, float]) -> bool:
    others, one = changes
    return others > 0 and abs(one / others - np.exp(_ADDED)) < 1e-3 * np.exp(_ADDED)


_WHOLE, _WIDTH = {"b": 2, "h": 3, "q": 4, "k": 4, "1": 1}, 12
"""Lengths of a mask that is taken whole or in part, and the width of its tokens."""


def _repeats(runner: LayerRunner, form: MaskForm, dtype: str, *, heads: bool) -> bool:
    """Return whether a mask is taken that has one row for all queries, and one that all batch entries share."""
    shapes = [tuple(1 if letter == shared else _WHOLE[letter] for letter in form.axes) for shared in "qb"]
    return (
        "q" in form.axes
        and "n" not in form.axes
        and all(_takes(runner, form, np.ones(shape, np.bool_), dtype, heads=heads) for shape in shapes)
    )


def _takes(runner: LayerRunner, form: MaskForm, allowed: NDArray[np.bool_], dtype: str, *, heads: bool = True) -> bool:
    """Return whether a mask that lets all keys be attended is taken."""
    mask: NDArray[Any] = np.zeros(allowed.shape, dtype) if form.meaning == "add" else allowed
    if form.meaning != "add":
        mask = (allowed if form.meaning == "attend" else ~allowed).astype(
            dtype if form.numbers == "float" else form.numbers
        )
    sizes = {"batch": _WHOLE["b"], "keys": _WHOLE["k"], "width": _WIDTH, "heads": _WHOLE["h"] if heads else 1}
    return shares(runner, dtype, {form.name: mask}, **sizes) is not None


def _with_heads(runner: LayerRunner, form: MaskForm, dtype: str) -> MaskForm:
    """Return the form with an axis of heads, where a mask that has one is taken."""
    if form.axes not in ("b1qk", "bqk"):
        return form
    batch, heads, queries, keys = (_WHOLE[letter] for letter in "bhqk")
    whole = np.ones((batch, heads, queries, keys), np.bool_)
    for axes in ("bhqk",) if form.axes == "b1qk" else ("b1qk", "nqk"):
        allowed = {"bhqk": whole, "b1qk": whole[:, 0], "nqk": whole.reshape(-1, queries, keys)}[axes]
        if _takes(runner, form, allowed, dtype):
            # For one head, a mask for each of all heads looks like one for each batch entry.
            return replace(form, axes=axes) if axes != "b1qk" or form.axes == "b1qk" else form
    return form
