"""The order in which cases are called: recorded for the core, and without effect on what is reported."""

from dataclasses import replace

import pytest

from attnspec.cases import load_suite
from attnspec.process.opening import open_target
from attnspec.runner import run_suite
from attnspec.targets.target import target_of
from attnspec_authoring.proof.smoke import in_turns
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.kill_matrix import KEPT_IN, noticed_cases

SMOKE = load_suite(profiles=["smoke"])


def test_the_record_holds_the_core_as_the_kill_matrix_orders_it():
    sets = {case_id: set() for case_id in SMOKE.cases}
    for mistake in CATALOGUE:
        for dtype in KEPT_IN:
            for case_id in noticed_cases(mistake.operation, dtype).get(mistake.id, ()):
                sets.setdefault(case_id, set()).add((mistake.id, dtype))
    operations = {case.id: case.operation for case in SMOKE.cases.values()}
    assert SMOKE.called_first == in_turns(SMOKE.cases, sets, operations)
    assert sorted(SMOKE.called_first) == [*SMOKE.cases]


def test_within_an_operation_the_case_that_notices_most_of_what_is_left_comes_first():
    sets = {"a": {("one", "")}, "b": {("one", ""), ("two", "")}, "c": {("three", "")}, "d": {("four", "")}}
    assert in_turns("abcd", sets, {"a": "x", "b": "x", "c": "x", "d": "y"}) == ("b", "d", "c", "a")


@pytest.mark.parametrize("target", ["reference", "./tests/examples/student_scale_missing.py"])
def test_results_do_not_depend_on_the_order(target):
    chosen = load_suite(profiles=["documents", "softcap"])
    assert 0 < len(chosen.core) < len(chosen.cases)

    def results(suite):
        with_target = open_target(target_of(target, {}))
        return [
            (result.case.id, result.dtype, result.verdict, result.same_bits) for result in run_suite(suite, with_target)
        ]

    by_record, by_id = results(chosen), results(replace(chosen, called_first=()))
    assert by_record == by_id
    assert list(dict.fromkeys(case_id for case_id, *_ in by_record)) == [*chosen.cases]


def test_the_first_failure_of_a_run_that_stops_there_is_of_the_core():
    from attnspec import validate

    report = validate("./tests/examples/student_scale_missing.py", fail_fast=True)
    wrong = [result for result in report.results if result.is_wrong]
    assert len(wrong) == 1
    assert wrong[0].case.id in SMOKE.cases
