"""Cases of rotary frequencies keep to what their page leaves open."""

import math

import pytest

from attnspec_authoring.recipes import authored_cases

YARN = [
    case
    for case in authored_cases()
    if case.operation == "rotary_frequencies" and case.attributes.get("scaling") == "yarn" and case.rejects is None
]


@pytest.mark.parametrize("case", YARN, ids=lambda case: case.id)
def test_no_range_of_yarn_ends_before_it_begins(case):
    stated = {"theta": 10000.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True, **case.attributes}
    assert stated["beta_fast"] >= stated["beta_slow"]
    assert stated["factor"] >= 1
    low, high = (
        stated["width"] * math.log(stated["original_length"] / (2 * math.pi * turns)) / (2 * math.log(stated["theta"]))
        for turns in (stated["beta_fast"], stated["beta_slow"])
    )
    if stated["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    assert max(low, 0) <= min(high, stated["width"] - 1)
