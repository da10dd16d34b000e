"""Copies that keep the strides of an array."""

import numpy as np
import pytest

from attnspec.runner.memory_order import MEMORY_ORDERS
from attnspec.tensors.of_numpy import strided_copy

KEPT = sorted(set(MEMORY_ORDERS) - {"reversed"})


@pytest.mark.parametrize("layout", KEPT)
def test_strides_and_numbers_are_kept(layout):
    array = np.ones((3, 2, 4, 5)) if "broadcast" in layout else np.arange(120.0).reshape(3, 2, 4, 5)
    in_memory_order = MEMORY_ORDERS[layout](array)
    copy = strided_copy(in_memory_order)
    assert copy.strides == in_memory_order.strides
    assert np.array_equal(copy, in_memory_order)
    assert not np.shares_memory(copy, in_memory_order)


def test_what_lies_between_shows():
    copy = strided_copy(MEMORY_ORDERS["gapped"](np.arange(6.0).reshape(2, 3)))
    row = np.lib.stride_tricks.as_strided(copy, (5,), (copy.itemsize,))
    assert np.isnan(row[1::2]).all()
    assert not np.isnan(row[::2]).any()


def test_an_array_that_runs_backwards_runs_forwards():
    copy = strided_copy(MEMORY_ORDERS["reversed"](np.arange(6.0).reshape(2, 3)))
    assert all(stride > 0 for stride in copy.strides)
    assert np.array_equal(copy, np.arange(6.0).reshape(2, 3))
