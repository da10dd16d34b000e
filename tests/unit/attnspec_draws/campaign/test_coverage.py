"""What the cases hold is read from the cases."""

from __future__ import annotations

import pytest

from attnspec.cases import load_suite
from attnspec_draws.campaign.coverage import attribute_level, coverage, factors_of, size_class, unmet_pair_rows

CASES = load_suite().cases


@pytest.mark.parametrize(
    ("length", "level"),
    [(0, "0"), (1, "1"), (2, "2 to 15"), (16, "16"), (17, "16 + 1"), (18, "over 16 + 1"), (80, "80"), (257, "256 + 1")],
)
def test_extents_are_classed_as_kernels_see_them(length, level):
    assert size_class(length) == level


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (None, "none"),
        (True, "true"),
        (0.0, "0"),
        (-0.5, "negative"),
        (0.3, "up to 1"),
        (1.5, "above 1"),
        ([2, None], "bounded and open"),
        (300, "over 256 + 1"),
    ],
)
def test_attributes_are_classed_by_their_value(value, level):
    assert attribute_level(value, stated=True) == level
    assert attribute_level(value, stated=False) == "not stated"


def test_the_factors_of_a_case_are_its_own():
    found = factors_of(CASES["memory/gapped_mask"])
    assert found["mask"] == "gapped"
    assert found["kind of mask"] == "f of rank 4"
    assert found["query"] == "plain"
    assert found["sinks"] == "none"
    assert found["is_causal"] == "not stated"
    assert found["numbers"] == "exact in bfloat16"
    assert found["key"] == "plain"


def test_what_never_meets_is_a_hole_until_a_case_has_it():
    plain, gapped = CASES["core/plain"], CASES["memory/gapped_mask"]
    sinks = CASES["sinks/plain"]
    few = coverage([plain, gapped, sinks])
    assert ("gapped", "plain") in few.unmet_levels("mask", "sinks")
    assert any(row[0] == "mask, sinks" for row in unmet_pair_rows(few))
    assert coverage([plain]) + coverage([gapped, sinks]) == few
    alone = coverage([plain])
    assert unmet_pair_rows(alone) == []
    assert alone.levels["mask"] == {"none": 1}
