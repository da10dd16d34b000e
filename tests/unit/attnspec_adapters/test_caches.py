"""The caches of built-in adapters, over every case."""

import pytest

from attnspec.cases import load_suite
from attnspec.runner import run_suite
from attnspec.targets import load

pytest.importorskip("onnx")


def test_onnx_scatters_as_the_page_does_in_steps_too():
    found = run_suite(load_suite(select=["caches/scatter_*"]), load("onnx"))
    assert {result.status for result in found} == {"pass", "unsupported"}
    assert all(
        "input_checks" in result.verdict.message or result.case.rejects for result in found if not passed(result)
    )
    in_steps = [result for result in found if "step_lengths" in result.case.inputs and not result.case.rejects]
    assert in_steps
    assert all(map(passed, in_steps))


def passed(result):
    return result.status == "pass"
