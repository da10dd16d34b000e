"""Batch invariance: broken by kernels that sum as the batch is, kept by a loop, and a failure where it is declared."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import pytest
from kernels.batched import implementation

from attnspec.cases import load_suite
from attnspec.contract import CALLED_IN_PARTS, OPERATIONS
from attnspec.contract.implementation import Raised, Wrapped
from attnspec.process.opening import open_target
from attnspec.runner import Resolved, run_suite
from attnspec.runner.invariance import invariance_failures, measured_invariance, units_in_the_last_digit
from attnspec.specification import clauses
from attnspec.targets.target import Target

SDPA = "scaled_dot_product_attention"
ENTRIES, QUERIES = "entries", "entries_and_queries"


SHORT = (
    "cache/buffer_causal_probe",
    "core/width_1",
    "masking/tiles_of_4_by_16_for_batch_entries",
    "pairs/attention_221",
    "pairs/tiles_64_causal",
    "paged/window_across_pages",
    "self_attention/causal",
    "tails/decode_49",
    "tails/key_lengths",
    "tails/values_wider_17",
)
"""Cases that a loop in Python answers soon."""


@cache
def suite(select=tuple(CALLED_IN_PARTS)):
    return load_suite(select=select)


@cache
def measured(size="fixed", *, declared="open", dtypes=("float64",), **how):
    """Return the results of a kernel, which all pass, and what was measured of batches."""
    target = implementation(size, dtypes=dtypes, batch_invariance=declared, **how)
    results = run_suite(suite(SHORT), target)
    assert not any(result.is_wrong for result in results)
    return results, measured_invariance(results, Resolved(target.declaration.conventions))


def differing_kinds(results):
    return {kind for result in results for kind, units, _ in result.verdict.parts if units > 0}


@pytest.mark.parametrize("declared", ["open", ENTRIES, QUERIES])
def test_a_loop_whose_blocks_are_fixed_keeps_every_bit(declared) -> None:
    _, found = measured(declared=declared)
    assert [(each.of, each.differing, each.units) for each in found] == [("entries", 0, 0), ("queries", 0, 0)]
    assert [each.calls for each in found] == [9, 7]
    assert invariance_failures(found) == ()


@pytest.mark.parametrize(
    ("size", "leaking", "kind", "declared", "part"),
    [
        ("by_batch_size", False, "alone", ENTRIES, "batch entry 2 alone"),
        ("by_longest", False, "neighbours", ENTRIES, ""),
        ("by_position", False, "order", ENTRIES, "the batch in the reverse order"),
        ("fixed", True, "neighbours", ENTRIES, "batch entry 0 beside other contents"),
        ("by_one_query", False, "queries", QUERIES, ""),
        ("by_one_query", False, "steps", QUERIES, ""),
    ],
)
def test_a_broken_promise_fails_and_is_only_measured_without_one(size, leaking, kind, declared, part) -> None:
    results, found = measured(size, leaking=leaking)
    assert kind in differing_kinds(results)
    assert invariance_failures(found) == ()
    (failure,) = invariance_failures(measured(size, leaking=leaking, declared=declared)[1])
    of = "queries" if declared == QUERIES else "entries"
    assert failure.is_wrong
    assert failure.is_of_run
    assert failure.case.id == f"invariance/{SDPA}/{of}"
    assert failure.clauses == (f"sdpa.invariance.{of}",)
    assert failure.clauses[0] in clauses()
    assert f" of {part}" in failure.verdict.message
    assert failure.verdict.message.endswith("in the whole call" if leaking else "in the last digit apart")


def test_queries_in_one_product_are_seen_beside_many_digits() -> None:
    """A library multiplies one query in another order than many: it shows where products of digits are not exact."""
    *_, queries = measured(declared=QUERIES, in_one_product=True)[1]
    (failure,) = invariance_failures([queries])
    assert "pairs/attention_221" in failure.verdict.message


def test_queries_may_differ_where_entries_alone_are_declared() -> None:
    _, (entries, queries) = measured("by_one_query", declared=ENTRIES)
    assert (entries.is_declared, entries.differing) == (True, 0)
    assert not queries.is_declared
    assert queries.differing
    assert not queries.is_wrong


def test_a_dtype_is_measured_alone_where_nothing_is_declared() -> None:
    both = ("float64", "float32")
    assert {each.dtype for each in measured(dtypes=both)[1]} == {"float64"}
    assert {each.dtype for each in measured(dtypes=both, declared=ENTRIES)[1]} == {*both}


def test_each_part_of_each_case_has_the_numbers_of_the_whole() -> None:
    """As the reference has them, up to rounding: what a part is cut from, and where its query stands, is right."""
    target = open_target(Target("reference"), dtypes=("float64",))
    results = {result.case.id: result for result in run_suite(suite(), target, dtypes=("float64",))}
    assert results.keys() == CALLED_IN_PARTS.keys()
    for case, kinds in CALLED_IN_PARTS.items():
        parts = results[case].verdict.parts
        assert [kind for kind, *_ in parts] == kinds, case
        assert all(units < 1e4 for _, units, _ in parts), (case, parts)


def test_every_operation_that_is_called_in_parts_may_declare_it() -> None:
    called = {case.operation for case in suite().cases.values()}
    assert called == {name for name, each in OPERATIONS.items() if "batch_invariance" in each.conventions}


class OfSeveralAlone(Wrapped):
    """An implementation that raises for a batch of one entry."""

    def run(self, request):
        if request.inputs["query"].shape[0] == 1:
            return Raised("IndexError: a batch of one")
        return super().run(request)


@pytest.mark.parametrize(("declared", "broken"), [("open", False), (ENTRIES, True)])
def test_an_error_in_a_part_breaks_a_promise_and_says_nothing_without_one(declared, broken) -> None:
    target = OfSeveralAlone(implementation(batch_invariance=declared))
    results = run_suite(load_suite(select=("tails/key_lengths",)), target)
    found = measured_invariance(results, Resolved(target.declaration.conventions))
    assert [(each.calls, each.differing) for each in found] == [(1 + broken, int(broken))]
    assert [failure.verdict.message for failure in invariance_failures(found)] == broken * [
        "1 of 2 calls of a part of a case have other bits than the whole call: "
        "tails/key_lengths, batch entry 2 alone raised IndexError: a batch of one"
    ]


@pytest.mark.parametrize(
    ("dtype", "first", "second", "units"),
    [
        ("float64", 1.0, np.nextafter(1.0, 2), 1),
        ("float64", -1.0, np.nextafter(-1.0, 0), 1),
        ("float32", np.float32(1e-45), -np.float32(1e-45), 3),
        ("float64", 0.0, -0.0, 1),
        ("float64", np.nan, -np.nan, 0),
        ("float64", np.nan, 1.0, np.inf),
        ("float64", np.inf, 1.0, np.inf),
        ("float64", np.inf, np.inf, 0),
        ("float16", 1.0, 1 + 2**-10, 1),
        (ml_dtypes.bfloat16, 1.0, 1 + 2**-7, 1),
        ("bool", True, False, np.inf),
        ("int64", 3, 3, 0),
    ],
)
def test_units_in_the_last_digit(dtype, first, second, units) -> None:
    first, second = (np.array([number]).astype(dtype) for number in (first, second))
    assert units_in_the_last_digit(first, second).tolist() == [units]
