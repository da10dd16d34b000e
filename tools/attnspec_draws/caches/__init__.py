"""Random cases of caches."""

from attnspec_draws.caches.pools import SKIPPED, draw_pages, draw_slots, extents_of_slots
from attnspec_draws.caches.trivial_caches import TRIVIAL_CACHES
from attnspec_draws.caches.written_caches import (
    FULL_WIDTH,
    NONFINITE,
    draw_appended,
    draw_scattered,
    draw_window,
    extents_of_append,
    extents_of_scatter,
    extents_of_window,
)
from attnspec_draws.generators.memory import MEMORY_ORDER
from attnspec_draws.generators.random_cases import CaseGenerator, RandomCases
from attnspec_draws.generators.refusing import Misfit, Refusals
from attnspec_draws.generators.special_numbers import Resized

_OF_ALL = frozenset((FULL_WIDTH, NONFINITE, MEMORY_ORDER))
_APPEND = "append.rejects.shape"
_OF_APPEND = Refusals((_APPEND, _APPEND, None, _APPEND), _APPEND)


def _refusals(short_name: str, *inputs: str) -> dict[str, Refusals]:
    """Return that every other shape of some inputs is refused by the one clause of an operation."""
    clause = f"{short_name}.rejects.shape"
    return dict.fromkeys(inputs, Refusals((clause,), clause))


_APPENDED = ("past_key", "past_value", "key", "value")
_POOLS = ("key_pool", "value_pool", "key", "value")

_EXTENTS_OF = {
    "append_cache": extents_of_append,
    "scatter_cache": extents_of_scatter,
    "write_slots": extents_of_slots,
    "write_paged_cache": extents_of_slots,
    "write_window": extents_of_window,
}

RANDOM_CASES = RandomCases(
    case_generators={
        "append_cache": CaseGenerator(
            draw_appended, _OF_ALL, dict.fromkeys(_APPENDED, _OF_APPEND), resized=(Resized(_APPENDED),)
        ),
        "scatter_cache": CaseGenerator(
            draw_scattered,
            _OF_ALL,
            _refusals("scatter", "write_indices"),
            misfits=(Misfit("mode", "scatter.rejects.mode", lambda _: ("", "LINEAR", "ring")),),
        ),
        "write_slots": CaseGenerator(draw_slots, _OF_ALL | {SKIPPED}, _refusals("slots", *_POOLS, "slot_mapping")),
        "write_paged_cache": CaseGenerator(
            draw_pages, _OF_ALL, _refusals("pages", *_POOLS, "batch_indices", "positions")
        ),
        "write_window": CaseGenerator(
            draw_window,
            _OF_ALL,
            _refusals("window", "key_cache", "value_cache", "key", "value", "past_lengths"),
            misfits=(Misfit("keep", "window.rejects.keep", lambda drawn: (drawn.inputs["key_cache"].shape[2], -1)),),
        ),
    },
    trivial_answers=TRIVIAL_CACHES,
    extents_of=lambda operation, shapes, attributes: _EXTENTS_OF[operation](shapes, attributes),
)
