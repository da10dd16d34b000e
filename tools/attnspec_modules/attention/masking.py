"""Masks of a case, in a form that a layer takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.layer_reading import MaskForm


class CannotSayError(Exception):
    """No mask of the layer says what a case asks; the message says why."""


def fitting_mask(
    forms: Sequence[MaskForm],
    mask: NDArray[Any] | None,
    shape: tuple[int, int, int, int],
    dtype: Any,
    *,
    causal: bool = False,
    past: int = 0,
) -> dict[str, Any]:
    """Return the masks to be given, by argument, for a mask that broadcasts to (B, H, Sq, Sk), and causality.

    The first query stands at position `past` among the keys.

    Raises CannotSayError where no form of the layer holds it.
    """
    if mask is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    given: dict[str, Any] = {}
    narrow = _narrow_form(forms, mask, shape, causal=causal)
    if narrow is not None and mask is not None:
        given[narrow.name] = _in_form(narrow, mask, shape, dtype)
        mask = None
    if causal:
        seen = np.tril(np.ones(shape[2:], np.bool_), past)[np.newaxis, np.newaxis]
        if mask is None:
            mask = seen
        else:
            mask = mask & seen if mask.dtype == np.bool_ else np.where(seen, mask, mask.dtype.type(-np.inf))
    why = "it takes no mask"
    for form in (each for each in forms if each is not narrow):
        wanted = np.ones((1, 1, 1, 1), np.bool_) if mask is None else mask
        if mask is None and not form.needed:
            continue
        try:
            in_form = _lengths if form.meaning == "lengths" else _in_form
            given[form.name] = in_form(form, wanted, shape, dtype)
        except CannotSayError as reason:
            why = str(reason)
            continue
        mask = None
    if mask is not None:
        raise CannotSayError(why)
    return given


def _lengths(form: MaskForm, mask: NDArray[Any], shape: tuple[int, ...], _dtype: Any) -> NDArray[Any]:
    """Return how many keys each batch entry has, for a mask that hides the last ones."""
    if mask.dtype != np.bool_:
        raise CannotSayError(f"{form.name!r} takes lengths alone")
    keys = np.broadcast_to(mask, shape)
    counts = keys.sum(axis=-1)
    wanted = np.arange(shape[3]) < counts.reshape(shape[0], -1)[:, :1].reshape(shape[0], 1, 1, 1)
    if not np.array_equal(keys, np.broadcast_to(wanted, shape)):
        raise CannotSayError(f"{form.name!r} takes lengths alone, which hide the last keys of all queries")
    return wanted.sum(axis=-1).reshape(shape[0])


def _narrow_form(
    forms: Sequence[MaskForm], mask: NDArray[Any] | None, shape: tuple[int, ...], *, causal: bool
) -> MaskForm | None:
    """Return the form of padding that holds a mask of keys, where the layer takes masks of queries and keys, too.

    A row without keys goes to the more general one, from which its convention is known.
    """
    if mask is None or mask.dtype != np.bool_ or not mask.size or not any("q" in form.axes for form in forms):
        return None
    every = np.broadcast_to(mask, shape)
    seen = np.tril(every) if causal else every
    if not seen.any(axis=-1).all() or not np.array_equal(every, np.broadcast_to(every[:, :1, :1], shape)):
        return None
    of_keys = (form for form in forms if {"b", "k"} <= {*form.axes} and not {"q", "h"} & {*form.axes})
    return next((form for form in of_keys if form.meaning != "lengths"), None)


def _in_form(form: MaskForm, mask: NDArray[Any], shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    if form.axes == "nqk":
        whole = _in_form(replace(form, axes="bhqk"), mask, shape, dtype)
        return whole.reshape(-1, *shape[2:])
    lengths = dict(zip("bhqk", shape, strict=True))
    for axis, letter in enumerate("bhqk"):
        if letter not in form.axes and mask.shape[axis] != 1:
            if not mask.size:
                mask = np.ones((1,) * 4, mask.dtype)
                break
            first = mask.take([0], axis=axis)
            if not np.array_equal(np.broadcast_to(first, mask.shape), mask):
                words = {"b": "batch entries", "h": "heads", "q": "queries", "k": "keys"}
                raise CannotSayError(f"its mask {form.name!r} cannot differ between {words[letter]}")
            mask = first
    if mask.dtype != np.bool_:
        if form.meaning != "add" and not form.adds:
            raise CannotSayError(f"its mask {form.name!r} takes truth values alone")
    elif form.meaning == "add":
        mask = np.where(mask, 0.0, -np.inf).astype(dtype)
    else:
        mask = mask if form.meaning == "attend" else ~mask
        mask = mask.astype(dtype if form.numbers == "float" else form.numbers)
    # As people give them: a mask of padding has one row, and that of causality is one for all batch entries.
    kept_short = "bhq" if form.repeats else ""
    mask = np.broadcast_to(
        mask,
        tuple(
            length if letter in kept_short else lengths[letter] if letter in form.axes else 1
            for letter, length in zip("bhqk", mask.shape, strict=True)
        ),
    )
    kept = [letter if letter in form.axes else "1" for letter in "bhqk"]
    # Axes of length 1 that the form does not have are dropped from the left to right.
    wanted = list(form.axes)
    index: list[Any] = []
    for letter in kept:
        if wanted and (letter == wanted[0] or (letter == "1" and wanted[0] == "1")):
            wanted.pop(0)
            index.append(slice(None))
        else:
            index.append(0)
    return np.ascontiguousarray(mask[tuple(index)])


def nothing_hidden(form: MaskForm, key: NDArray[Any]) -> NDArray[Any] | None:
    """Return a mask that hides nothing, where there can be no call without one: lengths are those of the keys."""
    return np.full(key.shape[:1], key.shape[1], np.int64) if form.meaning == "lengths" else None
