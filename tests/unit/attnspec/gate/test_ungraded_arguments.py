"""An argument that is taken and that nothing graded shows closes the gate, until the baseline says so."""

import json

import pytest

ALL_DECLINE = {"context": True, "columns": "declines", "whole": "declines"}
ROWS = "documents/001/softmax_of_rows"
TOP_LEFT, BOTTOM_RIGHT, SQUARE = "causal/fewer_queries_top_left", "causal/fewer_queries_bottom_right", "causal/square"

CAUSAL = """
import numpy as np

name = "mine"


def scaled_dot_product_attention(query, key, value, is_causal=False):
    {declining}
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    queries, keys = scores.shape[-2:]
    if is_causal:
        scores = np.where(np.tril(np.ones((queries, keys), bool), keys - queries), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value
"""
DECLINING = "if is_causal and query.shape != key.shape:\n        raise NotImplementedError('one alignment')"


@pytest.fixture
def of_columns(checkout):
    """Somebody's repository, with two cases of softmax, both over another axis than the last one."""
    checkout.remove_case(ROWS)
    return checkout


def test_the_gate_is_closed_without_a_baseline(of_columns):
    of_columns.adapter(**ALL_DECLINE)
    status, out, _ = of_columns.gate(baseline=False)
    assert status == 1
    assert "Taken, and not graded (1) axis of softmax: code that ignores it passes as well; 4 results would show" in out
    assert "(not this one)" in out
    assert out.endswith("mine does not pass the gate (taken, not graded: 1).")


def test_a_baseline_lists_it_with_a_reason_that_is_kept(of_columns):
    of_columns.adapter(**ALL_DECLINE)
    status, out, _ = of_columns.gate("--update-baseline")
    assert status == 0
    assert "Taken, and not graded: axis of softmax." in out
    (listed,) = json.loads(of_columns.baseline.read_text("utf-8"))["ungraded_arguments"]
    assert listed == {"operation": "softmax", "argument": "axis", "reason": "not yet explained"}
    assert of_columns.gate()[0] == 0
    of_columns.edit_baseline(ungraded_arguments=[listed | {"reason": "rows are planned"}])
    assert of_columns.update()["ungraded_arguments"] == [listed | {"reason": "rows are planned"}]


def test_a_new_one_closes_the_gate(of_columns):
    of_columns.adapter(context=True)
    assert of_columns.update()["ungraded_arguments"] == []
    of_columns.adapter(**ALL_DECLINE)
    status, out, _ = of_columns.gate()
    assert status == 1
    assert "Taken, and not graded (1) axis of softmax: " in out


@pytest.mark.parametrize(("options", "expected"), [((), 1), (("--lenient",), 0)])
def test_one_that_is_graded_now_is_to_be_taken_out(of_columns, options, expected):
    of_columns.adapter(**ALL_DECLINE)
    of_columns.update()
    of_columns.adapter(context=True)
    status, out, _ = of_columns.gate(*options)
    assert status == expected
    assert "axis of softmax: is listed as taken and not graded, and is not so any more" in out
    assert of_columns.update()["ungraded_arguments"] == []


def test_a_baseline_from_before_keeps_its_gate_open_and_says_so(of_columns):
    of_columns.adapter(**ALL_DECLINE)
    document = of_columns.update()
    del document["ungraded_arguments"]
    of_columns.baseline.write_text(json.dumps(document), "utf-8")
    status, out, _ = of_columns.gate()
    assert status == 0
    assert "Taken, and not graded (1) axis of softmax: " in out
    assert out.endswith("1 warning.")


@pytest.fixture
def from_before(checkout):
    """The baseline of a function without `causal_alignment`, from when it was not called where a case states that."""
    for case_id in [
        path.relative_to(checkout.golden).with_suffix("").as_posix() for path in checkout.golden.glob("d*/**/*.json")
    ]:
        checkout.remove_case(case_id)
    for case_id in (TOP_LEFT, BOTTOM_RIGHT, SQUARE):
        checkout.add_case(case_id)
    mine = checkout.folder / "mine.py"
    mine.write_text(CAUSAL.format(declining=DECLINING), "utf-8")
    document = checkout.update()
    document["groups"] = [{"argument": "causal_alignment", "count": 2, "reason": "one alignment"}]
    del document["ungraded_arguments"]
    checkout.baseline.write_text(json.dumps(document), "utf-8")
    mine.write_text(CAUSAL.format(declining="pass"), "utf-8")
    return checkout


def test_what_is_graded_now_for_a_default_leaves_a_gate_from_before_open(from_before):
    report = from_before.folder / "report.xml"
    status, out, _ = from_before.gate("--report", report)
    assert status == 0, out
    assert "Graded now: a default needs no argument" in out
    assert "causal_alignment: a case that states its default is put to a function without it: 1 result more" in out
    assert "<failure" not in report.read_text("utf-8")


def test_an_update_takes_it_in(from_before):
    document = from_before.update()
    assert [entry["case"] for entry in document["failures"]] == [TOP_LEFT]
    assert document["groups"] == [{"argument": "causal_alignment", "count": 1, "reason": "one alignment"}]
    assert document["ungraded_arguments"] == []
    assert from_before.gate()[0] == 0
