"""The tables of cases: complete, true to their rows, and discriminating."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attnspec.contract.dtypes import rounded_to
from attnspec_authoring.covering.construction import completed
from attnspec_authoring.covering.seeds import idle_features
from attnspec_authoring.recipes.attention import pairs
from attnspec_authoring.recipes.attention.pairs.switched_off import switched_off

TABLES = {table.name: table for table in pairs.TABLES}
CASES = {name: table.cases() for name, table in TABLES.items()}
GOLDEN = Path(__file__).parents[4] / "golden"
MOST_BYTES = 60_000


@pytest.mark.parametrize("name", TABLES)
def test_every_two_levels_meet_that_may(name):
    table = TABLES[name]
    rows = [row.levels for row in table.rows()]
    assert all(map(table.allowed, rows))
    assert len(completed(table.factors, table.allowed, rows).rows) == len(rows)


@pytest.mark.parametrize("name", TABLES)
def test_every_feature_of_every_case_shows(name):
    idle = {case.id: idle_features(case, switched_off(case)) for case in CASES[name]}
    assert {case_id: features for case_id, features in idle.items() if features} == {}


def test_a_feature_that_does_not_show_is_found():
    case = next(case for case in CASES["pairs/attention"] if "sinks" in case.inputs and "mask" not in case.inputs)
    faint = replace(case, inputs={**case.inputs, "sinks": np.full_like(case.inputs["sinks"], -200.0)})
    assert "sinks in float64" in idle_features(faint, switched_off(faint))


@pytest.mark.parametrize("name", TABLES)
def test_the_files_are_small(name):
    sizes = {case.id: (GOLDEN / f"{case.id}.json").stat().st_size for case in CASES[name]}
    assert {case_id: size for case_id, size in sizes.items() if size > MOST_BYTES} == {}


def test_many_numbers_use_every_bit_of_their_dtype():
    """Numbers that are exact in a narrower dtype do not show who rounds them to it."""
    by_narrower = {"float64": "float32", "float32": "float16", "float16": "bfloat16"}
    for dtype, narrower in by_narrower.items():
        offered = [case for cases in CASES.values() for case in cases if dtype in case.dtypes]
        full = [
            case
            for case in offered
            if any(
                not np.array_equal(rounded_to(array, dtype), rounded_to(array, narrower))
                for array in case.inputs.values()
                if array.dtype == np.float64
            )
        ]
        assert len(full) > len(offered) / 4, (dtype, len(full), len(offered))


def test_what_is_shared_is_stored_as_the_same_numbers():
    shared = [case for cases in CASES.values() for case in cases if "shared" in case.memory_order.values()]
    assert shared
    for case in shared:
        inputs = json.loads((GOLDEN / f"{case.id}.json").read_text("utf-8"))["inputs"]
        named = [inputs[name] for name, layout in case.memory_order.items() if layout == "shared"]
        assert len(named) > 1
        assert named.count(named[0]) == len(named)
