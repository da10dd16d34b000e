"""Trivial answers of caches."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.trivial_answers import Answer, Answered, Forms, Outputs

_PRESENT = ("present_key", "present_value")
_APPENDED = Forms("append_cache", _PRESENT)
_SCATTERED = Forms("scatter_cache", ("present", "history"))
_SLOTS = Forms("write_slots", _PRESENT)
_PAGES = Forms("write_paged_cache", _PRESENT)
_WINDOW = Forms("write_window", (*_PRESENT, "key_history", "value_history"))
_TOKENS, _HEADS = 2, 1
_PAIR, _SCALES, _INDICES = ("key", "value"), ("key_scale", "value_scale"), {"write_indices"}


def _unwritten(cache: str) -> Answer:
    """Return the trivial answer of caches as they were."""
    return lambda call: {f"present_{name}": call.inputs[cache.format(name)] for name in _PAIR}


def _backwards(forms: Forms, axis: int) -> Answer:
    """Return the trivial answer of new tokens in the opposite order."""
    return lambda call: forms.answer(call, **{name: np.flip(call.inputs[name], axis) for name in _PAIR})


def _in_slots(others: Callable[[NDArray[np.int64], int], NDArray[np.int64]]) -> Answer:
    """Return the trivial answer of tokens in other slots, which are made of these and of how many there are."""

    def answer(call: Answered) -> Outputs:
        pages, size = call.inputs["key_pool"].shape[:2]
        return _SLOTS.answer(call, slot_mapping=others(call.inputs["slot_mapping"], pages * size))

    return answer


def _in_order(call: Answered) -> Outputs:
    """Fill the slots that there are in their order, whatever the order of tokens."""
    slots = call.inputs["slot_mapping"].copy()
    slots[slots >= 0] = np.sort(slots[slots >= 0])
    return _SLOTS.answer(call, slot_mapping=slots)


def _of_lengths(others: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Answer:
    """Return the trivial answer that takes other lengths of texts."""
    return lambda call: _WINDOW.answer(call, past_lengths=others(call.inputs["past_lengths"]))


TRIVIAL_CACHES = {
    "append_cache": _APPENDED.listed(
        {
            "new_first": lambda call: {
                f"present_{name}": np.concatenate((call.inputs[name], call.inputs[f"past_{name}"]), _TOKENS)
                for name in _PAIR
            },
            "heads_moved": _APPENDED.moved(_HEADS),
            "tokens_moved": _APPENDED.moved(_TOKENS),
            "backwards": lambda call: {name: call.right[name][:, :, ::-1] for name in _PRESENT},
            "half_precision": _APPENDED.half_precision,
        },
    ),
    "scatter_cache": _SCATTERED.listed(
        {
            "unwritten": lambda call: {"present": call.inputs["cache"]},
            "first_entry": lambda call: _SCATTERED.answer(
                call, **{name: 0 * call.inputs[name] + call.inputs[name][:1] for name in _INDICES & call.inputs.keys()}
            ),
            "from_the_start": _SCATTERED.without("write_indices"),
            "history_of_the_end": lambda call: (
                {"history": np.broadcast_to(call.right["present"], call.right["history"].shape)}
                if "history" in call.right
                else {"present": call.inputs["cache"]}
            ),
            "backwards": lambda call: _SCATTERED.answer(
                call, update=np.flip(call.inputs["update"], call.attributes.get("axis", -2))
            ),
            "half_precision": _SCATTERED.half_precision,
        },
    ),
    "write_slots": _SLOTS.listed(
        {
            "unwritten": _unwritten("{}_pool"),
            "next_slot": _in_slots(lambda slots, count: np.where(slots < 0, slots, (slots + 1) % count)),
            "in_order": _in_order,
            "last_for_skipped": _in_slots(
                lambda slots, count: slots if count - 1 in slots else np.where(slots < 0, count - 1, slots)
            ),
            "unscaled": lambda call: _SLOTS.answer(
                call, **{name: np.ones_like(call.inputs[name]) for name in _SCALES if name in call.inputs}
            ),
            "heads_moved": _SLOTS.moved(_TOKENS),
            "backwards": _backwards(_SLOTS, 0),
        },
        precise=(),
    ),
    "write_paged_cache": _PAGES.listed(
        {
            "unwritten": _unwritten("{}_pool"),
            "without_table": lambda call: _PAGES.answer(call, page_indices=np.sort(call.inputs["page_indices"])),
            "heads_moved": _PAGES.moved(_TOKENS),
            "backwards": _backwards(_PAGES, 0),
            "half_precision": _PAGES.half_precision,
        },
    ),
    "write_window": _WINDOW.listed(
        {
            "unwritten": _unwritten("{}_cache"),
            "no_keep": _WINDOW.without("keep"),
            "from_the_start": _of_lengths(np.zeros_like),
            "first_length": _of_lengths(lambda past: np.broadcast_to(past[:1], past.shape)),
            "next_slot": _of_lengths(lambda past: past + 1),
            "backwards": _backwards(_WINDOW, _TOKENS),
            "half_precision": _WINDOW.half_precision,
        },
    ),
}
"""Operation to its trivial answers, cheapest first."""
