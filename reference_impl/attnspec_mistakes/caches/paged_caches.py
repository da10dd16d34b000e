"""What goes wrong where tokens are written into the pages of a pool, by slots, or by sequence and position."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, exchanging, patch, replacing
from attnspec_reference.caches.write_paged_cache import slot_of, write_paged_cache
from attnspec_reference.caches.write_slots import WrittenPools, pages_of, write_slots, written
from attnspec_reference.precision import Array, Integers

Written = Callable[[Array, Array, Integers], Array]


def slots_as(change: Callable[[Integers], Integers]) -> Computation:
    """Write to other slots; beyond the pool they count on from its beginning."""

    def wrapped(pool: Array, tokens: Array, slots: Integers) -> Array:
        count = max(pool.shape[0] * pool.shape[1], 1)
        changed = change(slots)
        return written(pool, tokens, np.where(changed >= 0, changed % count, changed))

    return patch(write_slots, written=wrapped)


def slots_in_pages_as(change: Callable[[Integers, tuple[int, ...]], tuple[Integers, ...]]) -> Computation:
    """Find another page and position for a slot, from the shape of the pool; both stay within it."""

    def placed(pool: Array, tokens: Array, slots: Integers) -> Array:
        def inside(slots: Integers, _: int) -> tuple[Integers, Integers]:
            page, position = change(slots, pool.shape)
            return page % max(pool.shape[0], 1), position % max(pool.shape[1], 1)

        return patch(written, pages_of=inside)(pool, tokens, slots)

    return patch(write_slots, written=placed)


def packed(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Give the slots that are not skipped to the first tokens."""
    kept = slots[slots >= 0]
    return written(pool, tokens[: len(kept)], kept)


def up_to_first_skipped(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Stop at the first token that is skipped."""
    skipped = np.flatnonzero(slots < 0)
    end = skipped[0] if skipped.size else len(slots)
    return written(pool, tokens[:end], slots[:end])


def run_by_its_ends(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Copy tokens at once to where the first one goes, if the last slot is where a run would end."""
    if len(slots) and 0 <= slots[0] == slots[-1] - len(slots) + 1:
        slots = slots[0] + np.arange(len(slots))
    return written(pool, tokens, slots)


def read_as_half_words(slots: Integers) -> Integers:
    """Read slots of eight bytes as twice as many of four, and take the first ones."""
    return np.ascontiguousarray(slots, dtype="<i8").view("<i4")[: len(slots)].astype(np.int64)


def skipped_wrap(pool: Array, tokens: Array, slots: Integers, skipped: Callable[[Integers], Any]) -> Array:
    """Count negative slots from the end of the pool, but for some."""
    count = pool.shape[0] * pool.shape[1]
    return written(pool, tokens, np.where((slots < 0) & ~skipped(slots), slots % max(count, 1), slots))


def others_zeroed(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Begin with zeros."""
    return written(np.zeros_like(pool), tokens, slots)


def pages_zeroed(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Clear the pages first into which something is written."""
    cleared = np.array(pool)
    cleared[slots[slots >= 0] // max(pool.shape[1], 1)] = 0
    return written(cleared, tokens, slots)


def heads_before_positions(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Read a page as if it had one head after the other."""
    pages, size, heads, width = pool.shape
    flat = np.ascontiguousarray(pool).reshape(pages, heads, size, width).swapaxes(1, 2)
    changed = written(flat, tokens, slots)
    return np.ascontiguousarray(changed.swapaxes(1, 2)).reshape(pool.shape)


def beyond_dropped(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Skip what lies beyond the pool, too."""
    return written(pool, tokens, np.where(slots >= pool.shape[0] * pool.shape[1], -1, slots))


def values_of_keys(function: Callable[..., WrittenPools]) -> Computation:
    """Write the keys into the pool of values, too."""

    def computed(**arguments: Any) -> WrittenPools:
        if arguments["key"].shape != arguments["value"].shape:
            raise ValueError("Keys are of another width than values.")
        return function(**{**arguments, "value": arguments["key"]})

    return computed


def values_left_out(function: Callable[..., WrittenPools]) -> Computation:
    """Leave the pool of values as it was."""
    return replacing(function, present_value=lambda _, arguments: np.array(arguments["value_pool"]))


def pools_exchanged(function: Callable[..., WrittenPools]) -> Computation:
    """Write keys into the pool of values, and values into that of keys, where the widths allow it."""
    return exchanging(function, ("key", "value"), ("key_scale", "value_scale"))


def with_written(function: Written) -> Computation:
    """Write pages by another way to put tokens into slots."""
    return patch(write_paged_cache, write_slots=patch(write_slots, written=function))


def pages_as(change: Callable[..., Integers]) -> Computation:
    """Take another entry of the list of pages, from its sequences, positions, list, starts and size; it stays in it."""

    def found(sequences: Integers, positions: Integers, pages: Integers, starts: Integers, size: int) -> Integers:
        return pages[change(sequences, positions, starts, size) % max(pages.size, 1)]

    return patch(write_paged_cache, page_of=found)


def longest_row(starts: Integers) -> int:
    """Give the largest number of pages that a sequence has."""
    return int(np.max(np.diff(starts), initial=1))


def counted(sequences: Integers) -> Integers:
    """Count the tokens of each sequence from 0."""
    return np.array([np.sum(sequences[:token] == sequence) for token, sequence in enumerate(sequences)], dtype=np.int64)


def positions_as(change: Callable[[Integers, Integers], Integers]) -> Computation:
    """Take other positions for those that are given, from sequences and positions."""

    def computed(**arguments: Any) -> WrittenPools:
        positions = change(arguments["batch_indices"], arguments["positions"])
        return unchecked_pages(**{**arguments, "positions": positions})

    return computed


def into_next_pages(sequences: Integers, positions: Integers, pages: Integers, starts: Integers, size: int) -> Integers:
    """Go on in the pages of the next sequence, and behind the last one from the beginning."""
    return pages[(starts[np.minimum(sequences, starts.size - 1)] + positions // size) % max(pages.size, 1)]


unchecked_pages = patch(write_paged_cache, check_tokens=lambda *_: None, page_of=into_next_pages)

FUNCTIONS: Mapping[str, Making] = {
    "slots.one_late": slots_as(lambda slots: np.where(slots >= 0, slots + 1, slots)),
    "slots.page_and_position_exchanged": slots_in_pages_as(lambda slots, shape: pages_of(slots, shape[1])[::-1]),
    "slots.by_number_of_pages": slots_in_pages_as(lambda slots, shape: pages_of(slots, shape[0])),
    "slots.page_as_slot": slots_in_pages_as(lambda slots, _: (slots, np.zeros_like(slots))),
    "slots.heads_before_positions": patch(write_slots, written=heads_before_positions),
    "slots.counted": slots_as(lambda slots: np.where(slots >= 0, np.arange(len(slots)), slots)),
    "slots.counted_from_first": slots_as(
        lambda slots: np.where(slots >= 0, slots[:1] + np.arange(len(slots)), slots) if slots[:1] >= 0 else slots
    ),
    "slots.read_as_half_words": slots_as(read_as_half_words),
    "slots.sorted": slots_as(np.sort),
    "slots.run_by_its_ends": patch(write_slots, written=run_by_its_ends),
    "slots.values_left_out": values_left_out(write_slots),
    "slots.values_of_keys": values_of_keys(write_slots),
    "slots.pools_exchanged": pools_exchanged(write_slots),
    "slots.negative_from_the_end": patch(
        write_slots, written=lambda pool, tokens, slots: skipped_wrap(pool, tokens, slots, np.zeros_like)
    ),
    "slots.minus_one_alone_skipped": patch(
        write_slots, written=lambda pool, tokens, slots: skipped_wrap(pool, tokens, slots, lambda each: each == -1)
    ),
    "slots.negative_to_the_first": slots_as(lambda slots: np.maximum(slots, 0)),
    "slots.skipped_packed": patch(write_slots, written=packed),
    "slots.up_to_first_skipped": patch(write_slots, written=up_to_first_skipped),
    "slots.others_zeroed": patch(write_slots, written=others_zeroed),
    "slots.pages_zeroed": patch(write_slots, written=pages_zeroed),
    "slots.beyond_dropped": patch(write_slots, check_slots=lambda *_: None, written=beyond_dropped),
    "slots.written_in_place": overwriting(write_slots, "key", lambda arguments, _: np.zeros_like(arguments["key"])),
    "slots.strides_ignored": altered(write_slots, key=as_it_lies_in_memory, key_pool=as_it_lies_in_memory),
    "slots.gaps_ignored": altered(write_slots, value=without_gaps, slot_mapping=without_gaps),
    "slots.mapping_remembered": remembering(write_slots, "slot_mapping", "key", "key_pool"),
    "slots.shapes_broadcast": patch(write_slots, check_inputs=lambda *_: None),
    "pages.of_first_sequence": pages_as(lambda _, positions, __, size: positions // size),
    "pages.of_next_sequence": pages_as(
        lambda sequences, positions, starts, size: starts[sequences + 1] + positions // size
    ),
    "pages.starts_as_rows": pages_as(
        lambda sequences, positions, starts, size: sequences * longest_row(starts) + positions // size
    ),
    "pages.list_ignored": patch(
        write_paged_cache,
        page_of=lambda sequences, positions, _, starts, size: starts[sequences] + positions // size,
    ),
    "pages.next_at_full_page": pages_as(
        lambda sequences, positions, starts, size: starts[sequences] + (positions + 1) // size
    ),
    "pages.rounded_up": pages_as(
        lambda sequences, positions, starts, size: starts[sequences] + (positions + size - 1) // size
    ),
    "pages.first_page_alone": pages_as(lambda sequences, _, starts, __: starts[sequences]),
    "pages.one_late": patch(
        write_paged_cache, slot_of=lambda page, positions, size: slot_of(page, (positions + 1) % size, size)
    ),
    "pages.position_not_reduced": patch(
        write_paged_cache, slot_of=lambda page, positions, size: page * size + np.minimum(positions, size - 1)
    ),
    "pages.counted": positions_as(lambda sequences, _: counted(sequences)),
    "pages.counted_over_the_batch": positions_as(lambda _, positions: np.arange(len(positions))),
    "pages.sequences_sorted": altered(unchecked_pages, batch_indices=np.sort),
    "pages.sequence_of_first": altered(
        unchecked_pages, batch_indices=lambda sequences: np.full_like(sequences, sequences[0] if sequences.size else 0)
    ),
    "pages.values_left_out": values_left_out(write_paged_cache),
    "pages.values_of_keys": values_of_keys(write_paged_cache),
    "pages.others_zeroed": with_written(others_zeroed),
    "pages.pages_zeroed": with_written(pages_zeroed),
    "pages.into_pages_of_the_next": unchecked_pages,
    "pages.written_in_place": overwriting(
        write_paged_cache, "positions", lambda arguments, _: arguments["positions"] + 1
    ),
    "pages.strides_ignored": altered(write_paged_cache, key=as_it_lies_in_memory, key_pool=as_it_lies_in_memory),
    "pages.gaps_ignored": altered(write_paged_cache, positions=without_gaps, page_indices=without_gaps),
    "pages.list_remembered": remembering(write_paged_cache, "page_indices", "key", "key_pool"),
    "pages.shapes_broadcast": patch(
        write_paged_cache,
        check_inputs=lambda *_: None,
        write_slots=patch(write_slots, check_inputs=lambda *_: None),
    ),
}
