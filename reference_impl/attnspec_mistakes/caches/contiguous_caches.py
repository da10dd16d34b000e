"""What goes wrong where tokens are appended to a cache, or scattered into one."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    heads_as_one_block,
    overwriting,
    remembering,
    without_gaps,
)
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, cut_to_bfloat16, defaulting, ignoring, on_calls, patch
from attnspec_reference.caches.append_cache import AppendedCache, append_cache, behind, check_inputs
from attnspec_reference.caches.scatter_cache import ScatteredCache, check_ends, put, scatter_cache, slots_of
from attnspec_reference.precision import Array, Integers

CORES = 8
"""How many share the rows of an update."""


def appending(change: Callable[[Array, Array], Array]) -> Computation:
    """Append otherwise: from past and new tokens."""
    return patch(append_cache, behind=change)


def values_of_keys(
    *, past_key: Array, past_value: Array, key: Array, value: Array, right: Callable[..., AppendedCache] = append_cache
) -> AppendedCache:
    """Append the new keys to the past values, too."""
    if key.shape != value.shape:
        raise ValueError("Keys are of another width than values.")
    return right(past_key, past_value, key, key)


def past_of_first(past: Array, new: Array) -> Array:
    """Put the past of the first batch entry before the new tokens of all."""
    return behind(np.broadcast_to(past[:1], past.shape), new)


def heads_and_tokens_exchanged(past: Array, new: Array) -> Array:
    """Read new tokens as if heads lay within tokens in memory."""
    batch, heads, tokens, width = new.shape
    return behind(past, np.ascontiguousarray(new).reshape(batch, tokens, heads, width).swapaxes(1, 2))


def none_refused(past: Array, new: Array) -> Array:
    """Refuse a past that has no tokens."""
    if not past.shape[2]:
        raise ValueError("The past has no tokens.")
    return behind(past, new)


def broadcast_to_each_other(past: Array, new: Array) -> Array:
    """Append where one of the two has a single batch entry or head for several."""
    others = np.broadcast_shapes((*past.shape[:2], past.shape[3]), (*new.shape[:2], new.shape[3]))
    return behind(*(np.broadcast_to(each, (*others[:2], each.shape[2], others[2])) for each in (past, new)))


def counts_unchecked(past_key: tuple[int, ...], past_value: tuple[int, ...], *new: tuple[int, ...]) -> None:
    """Take past keys and values for as many as each other, and new ones, too."""
    key, value = new
    check_inputs(past_key, past_value[:2] + past_key[2:3] + past_value[3:], key, value[:2] + key[2:3] + value[3:])


def scattering(change: Callable[[Integers, int, int, str], Integers]) -> Computation:
    """Write to other indices; those beyond the cache are written nowhere."""
    return patch(scatter_cache, slots_of=change, put=put_inside, check_ends=lambda *_: None)


def in_valid_calls(change: Callable[[Integers, int, int, str], Integers]) -> Computation:
    """Write to other indices, and refuse what is right to refuse."""
    return patch(scatter_cache, slots_of=change, put=put_inside)


def put_inside(entry: Array, slots: Integers, tokens: Array) -> None:
    """Write the tokens alone whose index lies in the cache."""
    inside = np.flatnonzero((slots >= 0) & (slots < len(entry)))
    put(entry, slots[inside], tokens[inside])


def one_late_after_wrap(indices: Integers, new: int, length: int, mode: str) -> Integers:
    """Go on at 1 behind the end."""
    slots = indices[:, np.newaxis] + np.arange(new)
    wrapped = slots_of(indices, new, length, mode)
    return np.where(slots >= length, (wrapped + 1) % max(length, 1), wrapped)


def clamped(indices: Integers, new: int, length: int, mode: str) -> Integers:
    """Move an update that would go beyond the end, so that it ends there."""
    del mode
    return np.clip(indices, 0, max(length - new, 0))[:, np.newaxis] + np.arange(new)


def at_the_beginning(indices: Integers, new: int, length: int, mode: str) -> Integers:
    """Write an update that would go beyond the end at the beginning, as a whole."""
    del mode
    first = indices % max(length, 1)
    return np.where(first + new > length, 0, first)[:, np.newaxis] + np.arange(new)


def bounded_alone(indices: Integers, new: int, steps: list[slice], length: int, mode: str) -> None:
    """Hold the longest step alone against the ends."""
    check_ends(indices, max((step.stop - step.start for step in steps), default=new), steps, length, mode)


def of_any_length(indices: Integers, new: int, steps: list[slice], length: int, mode: str) -> None:
    """Hold tokens against the ends under linear, and take steps of any length under circular."""
    check_ends(indices, new, [] if mode == "circular" else steps, length, mode)


def modulo_everywhere(entry: Array, slots: Integers, tokens: Array) -> None:
    """Take every coordinate modulo the length of the cache."""
    for others in np.ndindex(tokens.shape[1:]):
        entry[(slots, *(coordinate % max(len(entry), 1) for coordinate in others))] = tokens[(slice(None), *others)]


def runs_across_heads(entry: Array, slots: Integers, tokens: Array) -> None:
    """Deal rows out to eight cores; each counts on in the head in which its first row lies."""
    heads = list(np.ndindex(entry.shape[1:-1] or entry.shape[1:]))
    share = -(-len(heads) * len(tokens) // CORES)
    for row in range(len(heads) * len(tokens)):
        head, token = divmod(row, len(tokens))
        first, begun = divmod(row - row % share, len(tokens))
        slot = (slots[begun] + row % share) % len(entry)
        entry[(slot, *heads[first])] = tokens[(token, *heads[head])]


def blended(entry: Array, slots: Integers, tokens: Array) -> None:
    """Multiply what is replaced by 0, and add the new tokens."""
    entry[slots] = entry[slots] * 0 + tokens


def added(entry: Array, slots: Integers, tokens: Array) -> None:
    """Add the new tokens to what is there."""
    entry[slots] += tokens


def others_zeroed(entry: Array, slots: Integers, tokens: Array) -> None:
    """Begin with zeros."""
    entry[...] = 0
    put(entry, slots, tokens)


def rest_zeroed(entry: Array, slots: Integers, tokens: Array) -> None:
    """Clear what lies behind the last new token."""
    put(entry, slots, tokens)
    if len(slots):
        entry[slots[-1] + 1 :] = 0


def rest_rounded(entry: Array, slots: Integers, tokens: Array) -> None:
    """Write the whole cache again by way of bfloat16."""
    entry[...] = cut_to_bfloat16(entry)
    put(entry, slots, tokens)


def last_alone(entry: Array, slots: Integers, tokens: Array) -> None:
    """Write the last new token alone."""
    put(entry, slots[-1:], tokens[-1:])


def at_the_end(arguments: Mapping[str, Any]) -> Integers:
    """Give indices under which the last new token is the last of the cache."""
    cache, axis = arguments["cache"], arguments.get("axis", -2)
    return np.full(len(cache), cache.shape[axis] - arguments["update"].shape[axis])


def along_second_last(function: Callable[..., ScatteredCache]) -> Computation:
    """Write along the last axis but one, whatever axis is stated, where shapes allow it."""
    return ignoring(function, "axis")


def steps_from_same_index(*, step_lengths: Integers | None = None, **arguments: Any) -> ScatteredCache:
    """Write each step where the first one was written."""
    if step_lengths is None:
        return scatter_cache(**arguments)
    axis, cache, history, done = arguments.get("axis", -2), arguments["cache"], list[Array](), 0
    for length in step_lengths.tolist():
        step = np.take(arguments["update"], range(done, done + length), axis=axis)
        once: dict[str, Any] = {**arguments, "cache": cache, "update": step}
        cache = scatter_cache(**once).present
        history.append(cache)
        done += length
    return ScatteredCache(cache, np.array(history))


def history_of_last(function: Callable[..., ScatteredCache]) -> Computation:
    """Return views of one cache for all steps: each shows the last one."""

    @wraps(function)
    def computed(**arguments: Any) -> ScatteredCache:
        present, history = function(**arguments)
        shown = None if history is None else np.array(np.broadcast_to(present, history.shape))
        return ScatteredCache(present, shown)

    return computed


def unknown_as_linear(**arguments: Any) -> ScatteredCache:
    """Take every mode but circular for linear."""
    mode = arguments.get("mode", "linear")
    linear: dict[str, Any] = {**arguments, "mode": mode if mode == "circular" else "linear"}
    return scatter_cache(**linear)


def broadcast_update(*, cache: Array, update: Array, **arguments: Any) -> ScatteredCache:
    """Repeat an update along axes where it has a single entry for several."""
    axis = arguments.get("axis", -2)
    shape = list(cache.shape)
    if update.ndim == cache.ndim:
        shape[axis] = update.shape[axis]
    return scatter_cache(cache, np.broadcast_to(update, shape), **arguments)


FUNCTIONS: Mapping[str, Making] = {
    "append.new_first": appending(lambda past, new: behind(new, past)),
    "append.new_reversed": appending(lambda past, new: behind(past, new[:, :, ::-1])),
    "append.last_alone": appending(lambda past, new: behind(past, new[:, :, -1:])),
    "append.oldest_dropped": appending(lambda past, new: behind(past[:, :, 1:], new)),
    "append.values_of_keys": values_of_keys,
    "append.past_of_first": appending(past_of_first),
    "append.heads_and_tokens_exchanged": appending(heads_and_tokens_exchanged),
    "append.nan_zeroed": appending(lambda past, new: behind(np.where(np.isnan(past), past.dtype.type(0), past), new)),
    "append.past_rounded": appending(lambda past, new: behind(cut_to_bfloat16(past), new)),
    "append.along_heads": appending(lambda past, new: np.concatenate([past, new], axis=1)),
    "append.empty_refused": appending(none_refused),
    "append.written_in_place": overwriting(
        append_cache, "past_key", lambda arguments, _: np.flip(arguments["past_key"], axis=2)
    ),
    "append.strides_ignored": altered(append_cache, key=as_it_lies_in_memory, past_key=as_it_lies_in_memory),
    "append.gaps_ignored": altered(append_cache, value=without_gaps, past_value=without_gaps),
    "append.heads_in_one_block": altered(
        append_cache, **dict.fromkeys(("past_key", "past_value", "key", "value"), heads_as_one_block)
    ),
    "append.past_remembered": remembering(append_cache, "past_key", "key"),
    "append.counts_unchecked": patch(append_cache, check_inputs=counts_unchecked),
    "append.shapes_broadcast": patch(append_cache, check_inputs=lambda *_: None, behind=broadcast_to_each_other),
    "scatter.one_late": in_valid_calls(lambda indices, *rest: slots_of(indices + 1, *rest)),
    "scatter.index_ignored": ignoring(scatter_cache, "write_indices"),
    "scatter.index_of_first": in_valid_calls(
        lambda indices, *rest: slots_of(np.full_like(indices, indices[0] if indices.size else 0), *rest)
    ),
    "scatter.at_the_end_by_default": defaulting(scatter_cache, write_indices=at_the_end),
    "scatter.axis_ignored": along_second_last(scatter_cache),
    "scatter.second_axis_by_default": defaulting(scatter_cache, axis=lambda _: 1),
    "scatter.circular_ignored": in_valid_calls(
        lambda indices, new, length, _: slots_of(indices, new, length, "linear")
    ),
    "scatter.first_index_alone_circular": in_valid_calls(
        lambda indices, new, length, _: indices[:, np.newaxis] % max(length, 1) + np.arange(new)
    ),
    "scatter.one_late_after_wrap": in_valid_calls(one_late_after_wrap),
    "scatter.clamped_under_circular": in_valid_calls(clamped),
    "scatter.as_a_whole_to_the_beginning": in_valid_calls(at_the_beginning),
    "scatter.modulo_everywhere": on_calls(
        scatter_cache, lambda given: given.get("mode") == "circular", patch(scatter_cache, put=modulo_everywhere)
    ),
    "scatter.runs_across_heads": patch(scatter_cache, put=runs_across_heads),
    "scatter.blended": patch(scatter_cache, put=blended),
    "scatter.added": patch(scatter_cache, put=added),
    "scatter.others_zeroed": patch(scatter_cache, put=others_zeroed),
    "scatter.rest_zeroed": patch(scatter_cache, put=rest_zeroed),
    "scatter.rest_rounded": patch(scatter_cache, put=rest_rounded),
    "scatter.last_alone": patch(scatter_cache, put=last_alone),
    "scatter.steps_from_same_index": steps_from_same_index,
    "scatter.history_of_last": history_of_last(scatter_cache),
    "scatter.clamped": scattering(clamped),
    "scatter.beyond_the_end_dropped": scattering(slots_of),
    "scatter.wraps_under_linear": scattering(
        lambda indices, new, length, _: slots_of(indices, new, length, "circular")
    ),
    "scatter.circular_by_default": defaulting(scatter_cache, mode=lambda _: "circular"),
    "scatter.steps_bounded_alone": patch(scatter_cache, check_ends=bounded_alone, put=put_inside),
    "scatter.longer_steps_taken": patch(scatter_cache, check_ends=of_any_length),
    "scatter.unknown_mode_as_linear": unknown_as_linear,
    "scatter.written_in_place": overwriting(
        scatter_cache, "update", lambda arguments, _: np.zeros_like(arguments["update"])
    ),
    "scatter.strides_ignored": altered(scatter_cache, cache=as_it_lies_in_memory, update=as_it_lies_in_memory),
    "scatter.gaps_ignored": altered(scatter_cache, cache=without_gaps, update=without_gaps),
    "scatter.index_remembered": remembering(scatter_cache, "write_indices", "cache", "update"),
    "scatter.update_broadcast": broadcast_update,
}
