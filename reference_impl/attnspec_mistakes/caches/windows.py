"""What goes wrong in a window: sinks that are lost, a ring that is one off, steps that are taken for one."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, defaulting, ignoring, patch, replacing
from attnspec_reference.caches.write_window import WrittenWindow, put, slots_of, write_window, written
from attnspec_reference.precision import Array, Integers


def slots_as(change: Callable[[Integers, int, int], Integers]) -> Computation:
    """Find other slots; beyond the window they count on from its beginning."""
    return patch(
        write_window, slots_of=lambda positions, length, keep: change(positions, length, keep) % max(length, 1)
    )


def one_late_after_wrap(positions: Integers, length: int, keep: int) -> Integers:
    """Go on one slot behind the first that can be replaced."""
    return np.where(positions >= length, slots_of(positions + 1, length, keep), slots_of(positions, length, keep))


def long_keeps_first(cache: Array, new: Array, slots: Integers, steps: list[slice]) -> Array:
    """Of a step that is longer than the window, write the first tokens."""
    length = cache.shape[2]
    windows = [np.array(cache)]
    for step in steps:
        window = windows[-1].copy()
        for token in range(step.start, min(step.stop, step.start + length)):
            put(window, slots[:, token], new[:, :, token])
        windows.append(window)
    return np.stack(windows)


def long_in_order(cache: Array, new: Array, slots: Integers, steps: list[slice]) -> Array:
    """Lay the last tokens of a step that fills the window in order from its beginning."""
    length = cache.shape[2]
    windows = [np.array(cache)]
    for step in steps:
        window = written(windows[-1], new, slots, [step])[-1]
        if step.stop - step.start > length:
            window = np.array(new[:, :, step.stop - length : step.stop])
        windows.append(window)
    return np.stack(windows)


def ring_in_order_of_text(**arguments: Any) -> WrittenWindow:
    """Where several tokens come to a ring that has gone round, take its slots for the order of the text."""
    keep, new = arguments.get("keep", 0), np.shape(arguments["key"])[2]
    for name in ("key_cache", "value_cache"):
        cache = np.array(arguments[name])
        ring = cache[:, :, keep:]
        for entry, past in zip(ring, arguments["past_lengths"], strict=True):
            if new > 1 and past > cache.shape[2]:
                entry[...] = np.roll(entry, past - keep, axis=1)
        arguments[name] = cache
    return write_window(**arguments)


def last_of_step(cache: Array, new: Array, slots: Integers, steps: list[slice]) -> Array:
    """Write the last token of each step alone."""
    return written(cache, new, slots, [slice(max(step.stop - 1, step.start), step.stop) for step in steps])


def others_zeroed(cache: Array, new: Array, slots: Integers, steps: list[slice]) -> Array:
    """Begin with zeros."""
    return written(np.zeros_like(cache), new, slots, steps)


def steps_from_same_past(
    *, key: Array, value: Array, step_lengths: Integers | None = None, **arguments: Any
) -> WrittenWindow:
    """Write each step as if as many tokens had come before it as before the first one."""
    if step_lengths is None:
        return write_window(key=key, value=value, **arguments)
    histories, done = list[tuple[Array, Array]](), 0
    for length in step_lengths.tolist():
        step = slice(done, done + length)
        present = write_window(key=key[:, :, step], value=value[:, :, step], **arguments)
        arguments |= {"key_cache": present.present_key, "value_cache": present.present_value}
        histories.append((present.present_key, present.present_value))
        done += length
    keys, values = (np.array([after[number] for after in histories]) for number in (0, 1))
    return WrittenWindow(keys[-1], values[-1], keys, values)


def history_of_last(**arguments: Any) -> WrittenWindow:
    """Return views of one window for all steps: each shows the last one."""
    key, value, *histories = write_window(**arguments)
    shown = [
        None if history is None else np.array(np.broadcast_to(present, history.shape))
        for present, history in zip((key, value), histories, strict=True)
    ]
    return WrittenWindow(key, value, *shown)


def values_left_out(function: Callable[..., WrittenWindow]) -> Computation:
    """Leave the window of values as it was."""

    def history(right: WrittenWindow, arguments: Mapping[str, Any]) -> Array | None:
        if right.value_history is None:
            return None
        return np.array(np.broadcast_to(arguments["value_cache"], right.value_history.shape))

    return replacing(
        function, present_value=lambda _, arguments: np.array(arguments["value_cache"]), value_history=history
    )


def values_of_keys(**arguments: Any) -> WrittenWindow:
    """Write the keys into the window of values, too."""
    if arguments["key"].shape != arguments["value"].shape:
        raise ValueError("Keys are of another width than values.")
    return write_window(**{**arguments, "value": arguments["key"]})


def values_one_behind(function: Callable[..., WrittenWindow]) -> Computation:
    """Write each value one slot behind its key."""

    @wraps(function)
    def computed(**arguments: Any) -> WrittenWindow:
        late = function(**{**arguments, "past_lengths": arguments["past_lengths"] + 1})
        return function(**arguments)._replace(present_value=late.present_value, value_history=late.value_history)

    return computed


def nothing_replaceable_kept(**arguments: Any) -> WrittenWindow:
    """Let the window be where nothing in it can be replaced."""
    key, value = arguments["key_cache"], arguments["value_cache"]
    if not 0 <= arguments.get("keep", 0) < key.shape[2]:
        return WrittenWindow(np.array(key), np.array(value), None, None)
    return write_window(**arguments)


def of_first(lengths: Integers) -> Integers:
    """Take the length of the first batch entry for all."""
    return np.full_like(lengths, lengths[0] if lengths.size else 0)


FUNCTIONS: Mapping[str, Making] = {
    "window.keep_ignored": ignoring(write_window, "keep"),
    "window.one_kept_by_default": defaulting(
        write_window, keep=lambda arguments: int(arguments["key_cache"].shape[2] > 1)
    ),
    "window.keep_counted_twice": slots_as(
        lambda positions, length, keep: np.where(positions < keep, positions, keep + positions % (length - keep))
    ),
    "window.one_more_kept": slots_as(
        lambda positions, length, keep: slots_of(positions, length, min(keep + bool(keep), length - 1))
    ),
    "window.one_less_kept": slots_as(lambda positions, length, keep: slots_of(positions, length, max(keep - 1, 0))),
    "window.ring_of_the_whole_window": slots_as(
        lambda positions, length, keep: np.where(positions < length, positions, np.maximum(positions % length, keep))
    ),
    "window.one_late": slots_as(lambda positions, length, keep: slots_of(positions + 1, length, keep)),
    "window.one_late_after_wrap": slots_as(one_late_after_wrap),
    "window.full_one_early": slots_as(
        lambda positions, length, keep: np.where(
            positions >= length - 1, slots_of(positions + 1, length, keep), slots_of(positions, length, keep)
        )
    ),
    "window.newest_replaced": slots_as(lambda positions, length, _: np.minimum(positions, length - 1)),
    "window.first_replaced_always": slots_as(
        lambda positions, length, keep: np.where(positions < length, positions, keep)
    ),
    "window.long_keeps_first": patch(write_window, written=long_keeps_first),
    "window.long_in_order": patch(write_window, written=long_in_order),
    "window.ring_in_order_of_text": ring_in_order_of_text,
    "window.last_of_step": patch(write_window, written=last_of_step),
    "window.lengths_of_first": altered(write_window, past_lengths=of_first),
    "window.lengths_of_longest": altered(
        write_window, past_lengths=lambda lengths: np.full_like(lengths, np.max(lengths, initial=0))
    ),
    "window.lengths_ignored": altered(write_window, past_lengths=np.zeros_like),
    "window.lengths_within_the_window": altered(
        lambda **arguments: write_window(
            **{**arguments, "past_lengths": np.minimum(arguments["past_lengths"], arguments["key_cache"].shape[2])}
        )
    ),
    "window.values_left_out": values_left_out(write_window),
    "window.values_of_keys": values_of_keys,
    "window.values_one_behind": values_one_behind(write_window),
    "window.others_zeroed": patch(write_window, written=others_zeroed),
    "window.steps_from_same_past": steps_from_same_past,
    "window.history_of_last": history_of_last,
    "window.nothing_replaceable_kept": nothing_replaceable_kept,
    "window.written_in_place": overwriting(
        write_window, "past_lengths", lambda arguments, _: arguments["past_lengths"] + arguments["key"].shape[2]
    ),
    "window.strides_ignored": altered(write_window, key=as_it_lies_in_memory, key_cache=as_it_lies_in_memory),
    "window.gaps_ignored": altered(write_window, value=without_gaps, value_cache=without_gaps),
    "window.lengths_remembered": remembering(write_window, "past_lengths", "key", "key_cache"),
    "window.shapes_broadcast": patch(write_window, check_inputs=lambda *_: None),
}
