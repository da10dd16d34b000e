"""A half-precision answer that is graded unfused is also compared with the fused grade, and the report says so."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import attnspec
from attnspec.cases import canonical_json
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.reports.formats import print_report, report_to_json
from attnspec_authoring.recipes import AuthoredCase, Source
from attnspec_authoring.regeneration import filled_document
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference import scaled_dot_product_attention
from attnspec_reference.attention.phases import score_every_key

OPERATION = "scaled_dot_product_attention"


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Two cases whose scores are too large to be stored in half precision without a trace."""
    folder = tmp_path_factory.mktemp("golden")
    (folder / "core").mkdir()
    for seed in (1, 2):
        draw = np.random.default_rng(seed).integers
        inputs = {name: draw(-40, 40, (1, 2, 6, 8)) / 16 for name in ("query", "key", "value")}
        case = AuthoredCase(
            id=f"core/drawn_{seed}",
            title="Drawn.",
            operation=OPERATION,
            clauses=("sdpa.output",),
            source=Source(section="fused"),
            inputs=inputs,
            attributes={"scale": 3.0},
            dtypes=FLOAT_DTYPES,
        )
        (folder / f"{case.id}.json").write_text(canonical_json(filled_document(case)))
    return folder


def scores_in_bfloat16(query, key):
    import ml_dtypes

    product = score_every_key(query, key)
    return product.astype(ml_dtypes.bfloat16).astype(product.dtype)


fused = in_working_precision(scaled_dot_product_attention)
unfused = in_working_precision(patch(scaled_dot_product_attention, score_every_key=scores_in_bfloat16))


@pytest.fixture
def report(golden):
    """What validating a function comes to."""

    def report(function, dtypes=FLOAT_DTYPES, **conventions):
        def output(**arguments):
            return function(**arguments)["output"]

        holder = SimpleNamespace(**{OPERATION: output}, dtypes=dtypes, conventions=conventions)
        return attnspec.validate(holder, golden=golden)

    return report


def test_a_fused_implementation_would_pass_both_grades(report):
    for result in report(fused).results:
        assert result.status == "pass"
        assert result.verdict.fused is (True if result.dtype in ("float16", "bfloat16") else None)


def test_one_that_stores_its_scores_in_bfloat16_passes_unfused_alone(report):
    run = report(unfused, ["bfloat16"])
    assert run.conforms
    assert [result.verdict.fused for result in run.results] == [False, False]
    assert {result.status for result in report(unfused, ["bfloat16"], half_precision_grade="fused").results} == {"fail"}


def test_declared_fused_there_is_no_such_question(report):
    for result in report(fused, half_precision_grade="fused").results:
        assert (result.status, result.verdict.fused) == ("pass", None)


def test_a_fail_on_values_passes_neither(report):
    def wrong(**arguments):
        return {"output": fused(**arguments)["output"] * np.asarray(2, dtype=arguments["query"].dtype)}

    for result in report(wrong, ["float16"]).results:
        assert (result.status, result.verdict.fused) == ("fail", False)


def closing(run):
    """What the console says last, on one line."""
    stream = io.StringIO()
    print_report(run, Console(file=stream, width=400))
    return stream.getvalue()


def test_the_report_counts_them(report):
    run = report(unfused, ["float64", "bfloat16"])
    assert (run.summary.fused, run.summary.unfused) == (0, 2)
    run = report(fused, ["float64", "bfloat16", "float16"])
    assert (run.summary.fused, run.summary.unfused) == (4, 4)
    assert "of 4 passes in half precision, graded unfused, 4 would pass fused too." in closing(run)
    assert {entry["fused"] for entry in report_to_json(run)["results"]} == {None, True}
    assert "fused" not in closing(report(fused, ["float64"]))


def test_elements_and_medians_are_summed_up(report):
    run = report(fused, ["float64"])
    summary = report_to_json(run)["summary"]
    assert summary["elements_graded"] == sum(result.verdict.graded for result in run.results) > 0
    assert summary["elements_not_graded"] == 0
    assert summary["median"] in [result.verdict.median for result in run.results]
    assert f"\n{summary['elements_graded']:,} numbers compared; median error" in closing(run)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_fused_tolerance_is_the_tighter_one(dtype, report):
    verdicts = [report(fused, [dtype], half_precision_grade=grade).results for grade in ("unfused", "fused")]
    for loose, tight in zip(*verdicts, strict=True):
        assert tight.verdict.worst.tolerance < loose.verdict.worst.tolerance or tight.verdict.worst.ratio == 0
