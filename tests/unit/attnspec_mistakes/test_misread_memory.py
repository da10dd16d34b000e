"""Patches around the numbers: right on the first call with ordinary arrays, wrong beside them."""

import numpy as np
import pytest

from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    entries_close_together,
    overwriting,
    read_forwards,
    remembering,
    without_gaps,
)

TABLE = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("read", [as_it_lies_in_memory, without_gaps, read_forwards, entries_close_together])
def test_an_ordinary_array_is_read_rightly(read):
    assert np.array_equal(read(TABLE), TABLE)
    assert read(TABLE[:0]).shape == (0, 3)


def test_memory_is_misread_where_it_is_not_ordinary():
    assert as_it_lies_in_memory(np.asfortranarray(TABLE)).tolist() == [[0, 3, 1], [4, 2, 5]]
    assert without_gaps(TABLE[:, ::2]).tolist() == [[0, 1], [3, 4]]
    assert read_forwards(TABLE[:, ::-1]).tolist() == TABLE.tolist()


def test_entries_that_lie_apart_are_read_as_if_they_followed_one_another():
    longer = np.arange(24.0).reshape(2, 4, 3)
    assert entries_close_together(longer[:, :2]).tolist() == longer.reshape(4, 2, 3)[:2].tolist()
    one_for_all = np.broadcast_to(longer[:1], longer.shape)
    for rightly_read in (longer, longer[:, :, :2], longer[:, :, ::-1], longer[::-1], one_for_all, longer[:0]):
        assert np.array_equal(entries_close_together(rightly_read), rightly_read)


def test_an_input_is_overwritten_and_the_outputs_are_right():
    x = TABLE.copy()
    departed = overwriting(lambda x: {"output": x.T}, "x", lambda arguments, _: 2 * arguments["x"])
    assert np.array_equal(departed(x=x)["output"], TABLE.T)
    assert np.array_equal(x, 2 * TABLE)


def begun(*alike):
    return remembering(lambda **given: given, "axis", *alike).begin()


def test_an_argument_is_remembered_for_calls_that_are_alike():
    called = begun("x")
    assert called(x=TABLE, axis=0)["axis"] == 0
    assert called(x=TABLE + 1, axis=1)["axis"] == 0
    assert called(x=TABLE.astype(np.float32), axis=1)["axis"] == 1
    assert called(x=TABLE[:1], axis=None)["axis"] is None
    assert called(x=TABLE[:1], axis=1)["axis"] is None


def test_an_argument_that_was_not_given_is_remembered_as_such():
    called = begun("length")
    assert "axis" not in called(length=3)
    assert "axis" not in called(length=3, axis=1)
    assert called(length=4, axis=1)["axis"] == 1


def test_arrays_that_differ_in_shape_or_dtype_are_remembered_beside_each_other():
    called = begun()
    for array in (TABLE, TABLE.T, TABLE.astype(np.float32)):
        assert called(axis=array)["axis"] is array
        assert called(axis=array + 1)["axis"] is array
