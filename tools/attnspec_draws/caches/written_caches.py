"""Case generators of caches that keep a text in one piece: appended, scattered into, and windows."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import UsageError
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes, lengths_of
from attnspec_draws.generators.memory import laid_out
from attnspec_draws.generators.special_numbers import spoil_one
from attnspec_draws.generators.words import Words, coarse_or_wide, whole_numbers

FULL_WIDTH, NONFINITE = "full_width", "nonfinite"
_WIDE, _SPOILT = 30, 10
"""Of a hundred draws, those whose numbers need every digit, and those with one in the cache that is not finite."""

_EMPTY_KEYS = "empty_keys"
_EMPTY = {"": 22, "past": 2, "new": 1}
"""Tokens of which there are none, with weights."""

_WITH_STEPS, _WITH_INDICES, _KEEPING = 40, 75, 50
"""Of a hundred draws, how many have steps, stated indices, and tokens that are kept."""

_MODES = {"": 4, "linear": 2, "circular": 5}
_AXES_OF_TOKENS = {0: 4, -2: 2, 2: 1, 1: 3, -3: 1, 3: 1, -1: 1}
"""Modes and axes of tokens, with weights; 0 where none is stated."""

_RANK, _USUAL_AXIS = 4, -2
_ROUNDS = 3
"""Lengths of texts, by the window: it may have been filled so often."""

_APPENDED = ("batch", "heads", "past", "new", "width", "value_width")
_SCATTERED = ("batch", "heads", "new", "room", "width", "steps")
_WINDOW = ("batch", "heads", "slots", "new", "width", "value_width", "steps")
_LONG = {
    "append": {"past": 4, "new": 3, "width": 2, "heads": 1, "batch": 1},
    "scatter": {"new": 3, "room": 3, "width": 2, "heads": 1, "batch": 1},
    "window": {"slots": 4, "new": 4, "width": 2, "heads": 1, "batch": 1},
}
"""Which axes are long, with weights."""


def draw_appended(words: Words, limits: Limits) -> Drawn:
    """Draw a case of appending to a cache."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _APPENDED, _LONG["append"], limits)
    empty = stream.weighted(_EMPTY)
    if empty and limits.allow(_EMPTY_KEYS):
        lengths[empty] = 0
    extents = as_stated(
        lengths,
        limits,
        lambda of: of["batch"] * of["heads"] * (of["past"] + of["new"]) * max(of["width"], of["value_width"]),
    )
    batch, heads, past, new, width, value_width = (extents[axis] for axis in _APPENDED)
    shapes = {
        "past_key": (batch, heads, past, width),
        "past_value": (batch, heads, past, value_width),
        "key": (batch, heads, new, width),
        "value": (batch, heads, new, value_width),
    }
    inputs, features = numbers_of_cache(words, shapes, limits)
    is_empty = not past or not new
    clauses = {"order": True, "kept": past > 0, "shape": True, "empty": is_empty}
    return laid_out(
        words,
        limits,
        "append",
        inputs,
        features=(*features, *those({_EMPTY_KEYS: is_empty})),
        clauses=those(clauses),
        attributes={},
        extents=extents,
    )


def draw_scattered(words: Words, limits: Limits) -> Drawn:
    """Draw a case of scattering into a cache."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _SCATTERED, _LONG["scatter"], limits)
    has_steps = limits.has("step_lengths", drawn=stream.percent(_WITH_STEPS))
    lengths["steps"] = lengths["steps"] if has_steps else 1
    extents = as_stated(
        lengths,
        limits,
        lambda of: max(1, of["steps"]) * of["batch"] * of["heads"] * (of["new"] + of["room"]) * of["width"],
    )
    batch, heads, new, room, width, steps = (extents[axis] for axis in _SCATTERED)
    mode, axis = words.of("mode").weighted(_MODES), words.of("axis").weighted(_AXES_OF_TOKENS)
    mode = limits.stated.get("mode", mode if limits.allow("mode", f"mode={mode}") else "")
    axis = limits.stated.get("axis", axis if limits.allow("axis") else 0)
    index = (axis or _USUAL_AXIS) % _RANK
    others = (batch, heads, width)
    shapes = {
        name: (*others[:index], tokens, *others[index:]) for name, tokens in (("cache", new + room), ("update", new))
    }
    inputs, features = numbers_of_cache(words, shapes, limits)
    has_indices = limits.has("write_indices", drawn=words.of("has write_indices").percent(_WITH_INDICES))
    if has_indices:
        farthest = 2 * (new + room) if mode == "circular" else room
        inputs["write_indices"] = whole_numbers(words.of("write_indices"), (batch,), 0, farthest)
    if has_steps:
        inputs["step_lengths"] = _step_lengths(words, steps, new)
    named = {"write_indices": has_indices, "step_lengths": has_steps, "mode": bool(mode), "axis": axis != 0}
    clauses = {
        f"index{'' if has_indices else '.default'}": True,
        f"axis{'' if axis else '.default'}": True,
        "mode.default": not mode,
        "circular": mode == "circular",
        "untouched": True,
        "steps": has_steps,
    }
    return laid_out(
        words,
        limits,
        "scatter",
        inputs,
        features=(*features, *those(named)),
        clauses=those(clauses),
        attributes=({"axis": axis} if axis else {}) | ({"mode": mode} if mode else {}),
        extents=extents,
    )


def draw_window(words: Words, limits: Limits) -> Drawn:
    """Draw a case of writing into a window."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _WINDOW, _LONG["window"], limits)
    has_steps = limits.has("step_lengths", drawn=stream.percent(_WITH_STEPS))
    lengths["steps"] = lengths["steps"] if has_steps else 1
    extents = as_stated(
        lengths,
        limits,
        lambda of: math.prod(
            (
                of["batch"],
                of["heads"],
                max(max(1, of["steps"]) * of["slots"], of["new"]),
                max(of["width"], of["value_width"]),
            )
        ),
    )
    refuse_none(extents, "slots")
    batch, heads, slots, new, width, value_width, steps = (extents[axis] for axis in _WINDOW)
    shapes = {
        "key_cache": (batch, heads, slots, width),
        "value_cache": (batch, heads, slots, value_width),
        "key": (batch, heads, new, width),
        "value": (batch, heads, new, value_width),
    }
    inputs, features = numbers_of_cache(words, shapes, limits)
    past = inputs["past_lengths"] = whole_numbers(words.of("past_lengths"), (batch,), 0, _ROUNDS * slots)
    if has_steps:
        inputs["step_lengths"] = _step_lengths(words, steps, new)
    stream = words.of("keep")
    keeps, keep = stream.percent(_KEEPING) and limits.allow("keep"), stream.below(slots)
    # Beside a user's shape, a window may be shorter.
    keep = min(limits.stated.get("keep", keep if keeps else 0), slots - 1)
    keeps = keeps or "keep" in limits.stated
    clauses = {
        "slot": bool((past < slots).any()),
        "ring": bool((past + new > slots).any()),
        f"keep{'' if keeps else '.default'}": True,
        "long": new > slots - keep,
        "lengths": batch > 1,
        "value": True,
        "untouched": True,
        "steps": has_steps,
    }
    return laid_out(
        words,
        limits,
        "window",
        inputs,
        features=(*features, *those({"step_lengths": has_steps, "keep": keeps})),
        clauses=those(clauses),
        attributes={"keep": keep} if keeps else {},
        extents=extents,
    )


def extents_of_append(shapes: Mapping[str, tuple[int, ...]], _: Mapping[str, Any]) -> Mapping[str, int]:
    """Return axis to length of appending at a user's shapes."""
    return {
        **lengths_of("past_key", ("batch", "heads", "past", "width"), shapes),
        **lengths_of("value", ("batch", "heads", "new", "value_width"), shapes),
    }


def extents_of_scatter(shapes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, Any]) -> Mapping[str, int]:
    """Return axis to length of scattering at a user's shapes, whose axis of tokens the attributes say."""
    axis = attributes.get("axis", _USUAL_AXIS)
    index = (axis if isinstance(axis, int) else _USUAL_AXIS) % _RANK
    axes = ["batch", "heads", "width"]
    axes.insert(index, "new")
    of_update, of_cache = lengths_of("update", axes, shapes), lengths_of("cache", axes, shapes)
    if of_cache["new"] < of_update["new"]:
        raise ValueError(f"update has {of_update['new']} tokens, and cache room for {of_cache['new']}")
    return {**of_update, "room": of_cache["new"] - of_update["new"], **_extents_of_steps(shapes)}


def extents_of_window(shapes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, Any]) -> Mapping[str, int]:
    """Return axis to length of writing into a window at a user's shapes."""
    window, keep = lengths_of("key_cache", ("batch", "heads", "slots", "width"), shapes), attributes.get("keep", 0)
    if not isinstance(keep, int) or not 0 <= keep < window["slots"]:
        raise ValueError(f"keep is {keep!r}, and of {window['slots']} slots at least one must be replaceable")
    return {
        **window,
        **lengths_of("value", ("batch", "heads", "new", "value_width"), shapes),
        **_extents_of_steps(shapes),
    }


def _extents_of_steps(shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, int]:
    return lengths_of("step_lengths", ("steps",), shapes) if "step_lengths" in shapes else {}


def _step_lengths(words: Words, steps: int, new: int) -> NDArray[np.int64]:
    """Draw how many tokens come in each step: borders anywhere, so that a step may have none."""
    borders = np.sort(whole_numbers(words.of("step_lengths"), (max(steps, 1) - 1,), 0, new))
    return np.diff(borders, prepend=0, append=new)


def numbers_of_cache(
    words: Words, shapes: Mapping[str, tuple[int, ...]], limits: Limits
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Draw a cache and what comes into it, of which the first may hold a number that is not finite; and features."""
    stream = words.of("numbers")
    wide, spoilt = stream.percent(_WIDE), stream.percent(_SPOILT)
    is_wide = wide and limits.allow(FULL_WIDTH)
    inputs = {
        name: coarse_or_wide(words.varied(name), shape, limits.dtype, is_wide=is_wide) for name, shape in shapes.items()
    }
    first = inputs[next(iter(shapes))]
    is_spoilt = spoilt and first.size > 0 and limits.allow(NONFINITE)
    if is_spoilt:
        spoil_one(words, first)
    return inputs, those({FULL_WIDTH: is_wide, NONFINITE: is_spoilt})


def refuse_none(extents: Mapping[str, int], *axes: str) -> None:
    """Raise `UsageError` where the recipe states that there is none of something that every case needs."""
    for axis in axes:
        if not extents[axis]:
            raise UsageError(f"{axis}=0 leaves no case: state {axis}=1 at least.")
