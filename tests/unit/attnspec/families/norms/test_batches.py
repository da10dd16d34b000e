"""Batch invariance of norms: sums whose order depends on the batch are seen, and fail where bits are declared."""

from functools import cache

import pytest
from kernels.batched_norms import implementation

from attnspec.cases import load_suite
from attnspec.contract import CALLED_IN_PARTS
from attnspec.runner import Resolved, run_suite
from attnspec.runner.invariance import invariance_failures, measured_invariance
from attnspec.specification import clauses

ENTRIES, QUERIES = "entries", "entries_and_queries"


@cache
def measured(direction="fixed", *, declared="open", **how):
    """Return what was measured of norms, all of whose results pass."""
    suite = load_suite(select=tuple(case for case in CALLED_IN_PARTS if case.startswith("norms/")))
    target = implementation(direction, batch_invariance=declared, **how)
    results = run_suite(suite, target)
    assert not any(result.is_wrong for result in results)
    return measured_invariance(results, Resolved(target.declaration.conventions))


@pytest.mark.parametrize("declared", ["open", ENTRIES, QUERIES])
def test_a_sum_in_turn_keeps_every_bit(declared):
    found = measured(declared=declared)
    assert {(each.operation, each.of) for each in found} == {
        (operation, of) for operation in ("rms_norm", "qk_norm") for of in ("entries", "queries")
    }
    assert [each.sentence for each in found if each.differing] == []


@pytest.mark.parametrize(
    ("declared", "of", "how"),
    [
        (ENTRIES, "entries", {"direction": "by_batch_size"}),
        (ENTRIES, "entries", {"of_largest": True}),
        (QUERIES, "queries", {"direction": "by_one_token"}),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_sum_that_asks_the_batch_breaks_a_promise_and_is_measured_without_one(declared, of, how, dtype):
    assert {each.operation for each in measured(**how) if each.of == of and each.differing} == {"rms_norm", "qk_norm"}
    assert invariance_failures(measured(**how)) == ()
    failures = invariance_failures(measured(**how, declared=declared, dtypes=(dtype,)))
    assert [failure.clauses for failure in failures] == [
        (f"{name}.invariance.{of}",) for name in ("rms_norm", "qk_norm")
    ]
    assert {clause for failure in failures for clause in failure.clauses} <= {*clauses()}
