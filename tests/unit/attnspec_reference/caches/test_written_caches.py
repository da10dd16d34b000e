"""Writing into slots, pages and windows: what the reference refuses, and that it leaves alone what it is given."""

import numpy as np
import pytest

from attnspec_reference import write_paged_cache, write_slots, write_window


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape)


TOKENS = {
    "key_pool": numbers(3, 2, 2, 4),
    "value_pool": numbers(3, 2, 2, 5),
    "key": -numbers(3, 2, 4),
    "value": -numbers(3, 2, 5),
}
GIVEN = {
    write_slots: TOKENS | {"slot_mapping": np.array([4, -1, 1])},
    write_paged_cache: TOKENS
    | {
        "batch_indices": np.array([0, 1, 1]),
        "positions": np.array([0, 2, 3]),
        "page_indices": np.array([2, 0, 1]),
        "page_starts": np.array([0, 1, 3]),
    },
    write_window: {
        "key_cache": numbers(2, 2, 3, 4),
        "value_cache": numbers(2, 2, 3, 5),
        "key": -numbers(2, 2, 2, 4),
        "value": -numbers(2, 2, 2, 5),
        "past_lengths": np.array([1, 4]),
        "keep": 1,
    },
}

REFUSED = [
    (write_slots, {"key_pool": numbers(3, 2, 1, 2, 4)}),
    (write_slots, {"key": numbers(3, 2, 4, 1)}),
    (write_slots, {"key": numbers(3, 1, 4)}),
    (write_slots, {"value": numbers(4, 2, 5)}),
    (write_slots, {"value": numbers(2, 2, 5)}),
    (write_slots, {"value_pool": numbers(4, 2, 2, 5)}),
    (write_slots, {"value_pool": numbers(3, 3, 2, 5)}),
    (write_slots, {"slot_mapping": np.array([4, -1])}),
    (write_slots, {"slot_mapping": np.array([4, -1, 1, -1])}),
    (write_slots, {"slot_mapping": np.array([4, -1, 6])}),
    (write_slots, {"slot_mapping": np.array([4, -1, 7])}),
    (write_paged_cache, {"value": numbers(4, 2, 5)}),
    (write_paged_cache, {"batch_indices": np.array([0])}),
    (write_paged_cache, {"positions": np.array([0])}),
    (write_paged_cache, {"batch_indices": np.array([0, 1, 2])}),
    (write_paged_cache, {"batch_indices": np.array([0, 1, 3])}),
    (write_paged_cache, {"batch_indices": np.array([-1, 1, 1])}),
    (write_paged_cache, {"positions": np.array([2, 2, 3])}),
    (write_paged_cache, {"positions": np.array([0, 2, 4])}),
    (write_paged_cache, {"positions": np.array([-1, 2, 3])}),
    (write_paged_cache, {"page_indices": np.array([2, 0, -1])}),
    (write_paged_cache, {"page_indices": np.array([[2, 0, 1]])}),
    (write_paged_cache, {"page_indices": np.array([2, 0])}),
    (write_paged_cache, {"page_starts": np.array([0, 1, 4])}),
    (write_paged_cache, {"page_starts": np.array([0, 4, 3])}),
    (write_paged_cache, {"page_starts": np.array([1, 0, 3])}),
    (write_paged_cache, {"page_starts": np.array([[0, 1, 3]])}),
    (write_paged_cache, {"batch_indices": np.zeros(3, np.int64), "page_starts": np.array([0, 3, 2])}),
    (write_paged_cache, {"batch_indices": np.zeros(3, np.int64), "page_starts": np.array([0, 2, 4])}),
    (write_paged_cache, {"batch_indices": np.zeros(3, np.int64), "page_starts": np.array([0, 4, 2, 3])}),
    (write_window, {"key_cache": numbers(2, 2, 3, 4, 1)}),
    (write_window, {"key": numbers(2, 2, 2, 4, 1)}),
    (write_window, {"key": numbers(1, 2, 2, 4)}),
    (write_window, {"value": numbers(2, 2, 3, 5)}),
    (write_window, {"value": numbers(2, 2, 1, 5)}),
    (write_window, {"value_cache": numbers(2, 2, 4, 5)}),
    (write_window, {"past_lengths": np.array([1])}),
    (write_window, {"past_lengths": np.array([1, 4, 4])}),
    (write_window, {"past_lengths": np.array([-1, 4])}),
    (write_window, {"past_lengths": np.array([-1, -1])}),
    (write_window, {"keep": -1}),
    (write_window, {"keep": 3}),
    (write_window, {"keep": 4}),
]
"""A function, and what does not fit the rest that it is given."""


@pytest.mark.parametrize("operation", GIVEN)
def test_what_is_given_stays_and_lists_are_arrays(operation):
    before = {name: np.array(array) for name, array in GIVEN[operation].items()}
    written = operation(**GIVEN[operation])
    assert all(np.array_equal(GIVEN[operation][name], array) for name, array in before.items())
    again = operation(**{name: array.tolist() for name, array in before.items()})
    assert all(np.array_equal(one, other) for one, other in zip(written[:2], again[:2], strict=True))


@pytest.mark.parametrize(("operation", "changed"), REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(operation, changed):
    with pytest.raises(ValueError, match=r"\."):
        operation(**GIVEN[operation] | changed)


def test_the_window_after_the_last_step_shares_no_memory_with_the_history():
    written = write_window(**GIVEN[write_window], step_lengths=np.array([1, 1]))
    assert not any(np.shares_memory(written[0], array) or np.shares_memory(written[1], array) for array in written[2:])
    assert write_window(**GIVEN[write_window])[2:] == (None, None)
