"""What is remembered of outputs that were handed out, over as many calls as a campaign makes."""

import weakref

import numpy as np

from attnspec.contract.implementation import Request
from attnspec.targets.handed_out import HandedOut


class Watched(np.ndarray):
    """An array that can be watched."""


def test_what_was_handed_out_is_not_remembered_for_ever():
    """Every draw has shapes of its own, and a campaign has millions."""
    remembered, watched = HandedOut(), []
    for length in range(1, 6_000):
        array = np.zeros(length, np.float32).view(Watched)
        watched.append(weakref.ref(array))
        request = Request("softmax", "float32", {"x": np.zeros(length, np.float32)}, {})
        assert remembered.overwritten(request, {"output": array}, {"output": array.copy()}) == ()
        del array
    alive = sum(reference() is not None for reference in watched)
    assert 1_000 < alive < 5_000
    assert watched[0]() is None


def test_who_writes_over_an_output_of_many_calls_ago_is_found():
    remembered = HandedOut()
    buffer = np.zeros(3, np.float32).view(Watched)
    request = Request("softmax", "float32", {"x": np.zeros(3, np.float32)}, {})
    remembered.overwritten(request, {"output": buffer}, {"output": buffer.copy()})
    for length in range(4, 2_000):
        other = np.zeros(length, np.float32).view(Watched)
        called = Request("softmax", "float32", {"x": np.zeros(length, np.float32)}, {})
        remembered.overwritten(called, {"output": other}, {"output": other.copy()})
    buffer[:] = 1
    assert remembered.overwritten(request, {"output": buffer}, {"output": buffer.copy()}) == ("output",)


def test_an_output_whose_shape_is_changed_by_a_later_call_is_found():
    """A buffer may be given another shape in place, and hold the same bytes."""
    remembered = HandedOut()
    buffer = np.arange(6, dtype=np.float32).reshape(2, 3)
    request = Request("softmax", "float32", {"x": np.zeros((2, 3), np.float32)}, {})
    remembered.overwritten(request, {"output": buffer}, {"output": buffer.copy()})
    buffer.shape = (3, 2)
    other = np.zeros((2, 3), np.float32)
    assert remembered.overwritten(request, {"output": other}, {"output": other.copy()}) == ("output",)
