"""Limits say what is left out, and refuse what no case keeps to."""

import pytest

from attnspec.base.errors import UsageError
from attnspec_draws.generators.limits import Limits


def test_what_is_left_out_is_not_allowed():
    limits = Limits("float32", frozenset({"mask", "scale"}))
    assert limits.allow("sinks", "window")
    assert not limits.allow("sinks", "mask")


@pytest.mark.parametrize("sizes", [{"elements": 1}, {"elements": 0}, {"longest": 0}])
def test_limits_without_any_case_are_refused(sizes):
    with pytest.raises(UsageError, match="leave no case: write elements=2 and longest=1 at least"):
        Limits("float32", **sizes)


def test_a_case_that_is_too_large_is_reported_with_the_lengths_that_make_it():
    limits = Limits("float32", elements=100, extents={"keys": 50})
    limits.check_size(100)
    with pytest.raises(UsageError, match=r"With keys=50, .* 101 elements, and 100 is the limit: .* elements=101\."):
        limits.check_size(101)
