"""attnspec from Python: `validate`, what it returns, and what importing it costs."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.contract.implementation import Outputs

SOFTMAX_CASES = "documents/001/softmax_*"


def softmax(x, axis=-1):
    return attnspec_reference.softmax(x, axis=axis)


class Adapter:
    name = "from a class"

    def softmax(self, x, axis=-1):
        return softmax(x, axis)


def make():
    return Adapter()


module = ModuleType("written_by_hand")
module.softmax = softmax


def passed(report):
    return {result.case.operation for result in report.results if result.status == "pass"}


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("reference", "attnspec reference"),
        (module, "written_by_hand"),
        (Adapter, "from a class"),
        (Adapter(), "from a class"),
        (make, "from a class"),
        (attnspec.load(Adapter), "from a class"),
    ],
    ids=["built-in", "module", "class", "instance", "factory", "loaded"],
)
def test_modules_classes_instances_and_factories_are_validated(target, name):
    report = attnspec.validate(target, select=SOFTMAX_CASES, dtypes="float64")
    assert report.declaration.name == name
    assert report.conforms
    assert passed(report) == {"softmax"}


def test_one_function_is_validated_as_an_operation():
    def shares(Z, axis=-1):  # noqa: N803
        return softmax(Z, axis)

    report = attnspec.validate(shares, operation="softmax", renames={"Z": "x"}, select=SOFTMAX_CASES)
    assert report.conforms
    assert report.declaration.name == "shares"
    with pytest.raises(attnspec.AttnspecError, match="operation=OPERATION"):
        attnspec.validate(shares)


def test_one_name_and_several_are_taken_alike():
    one = attnspec.validate("reference", select=SOFTMAX_CASES, dtypes="float32", profile="documents")
    several = attnspec.validate("reference", select=[SOFTMAX_CASES], dtypes=("float32",), profile=["documents"])
    assert [result.case.id for result in one.results] == [result.case.id for result in several.results]
    assert {result.dtype for result in one.results} == {"float32"}
    both = attnspec.validate("reference", select=[SOFTMAX_CASES, "documents/002/split_heads"], dtypes="float32")
    assert len(both.results) == len(one.results) + 1


def test_a_layout_is_validated():
    def tokens_before_heads(query, key, value):
        swapped = (np.swapaxes(array, 1, 2) for array in (query, key, value))
        return np.swapaxes(attnspec_reference.scaled_dot_product_attention(*swapped).output, 1, 2)

    def report(layout):
        return attnspec.validate(
            tokens_before_heads,
            operation="scaled_dot_product_attention",
            layout=layout,
            select="documents/002/attention_unmasked*",
        )

    assert report("bshe").conforms
    assert not report(None).conforms
    with pytest.raises(attnspec.AttnspecError, match="There is no layout 'bsh'"):
        report("bsh")


def test_a_report_tells_what_came_of_it():
    def wrong_on_rows(x, axis=-1):
        return softmax(x, 0) if axis == 1 else softmax(x, axis)

    report = attnspec.validate(SimpleNamespace(softmax=wrong_on_rows), select="documents/001/*")
    assert isinstance(report, attnspec.Report)
    assert not report.conforms
    assert {result.case.id for result in report.wrong} == {"documents/001/softmax_of_rows"}
    assert report.summary.conformance == "does not conform"
    assert sum(report.summary.counts.values()) == len(report.results)
    assert report.summary.counts["fail"] == 1
    assert report.summary.clauses_graded < report.summary.clauses
    assert report.by_profile == {"documents": report.summary}
    assert report.environment["numpy"] == np.__version__
    assert report.suite_version == attnspec.__version__
    assert [entry.operation for entry in report.diagnosis] == ["softmax"]


def test_everything_graded_and_nothing_wrong_conforms():
    report = attnspec.validate("reference", select=SOFTMAX_CASES)
    assert report.summary.conformance == "conforms"
    assert report.summary.clauses_graded == report.summary.clauses > 0
    assert report.wrong == ()
    assert report.diagnosis == ()


def test_the_order_of_results_is_that_of_ids_and_dtypes():
    report = attnspec.validate("reference", select="documents/00[12]/*")
    keys = [result.case.id for result in report.results]
    assert keys == sorted(keys)
    assert len({(result.case.id, result.dtype) for result in report.results}) == len(report.results)


def test_the_module_shows_its_public_names_and_no_others():
    shown = dir(attnspec)
    assert shown == sorted(attnspec.__all__)
    assert {"validate", "case", "judge"} < set(shown)
    assert all(getattr(attnspec, name) is not None for name in shown)


def test_an_implementation_is_closed_whatever_happens():
    class Watched:
        def __init__(self):
            self.closed = 0
            self.declaration = attnspec.load(Adapter).declaration

        def run(self, request):
            return Outputs({"output": softmax(request.inputs["x"], **request.attributes)})

        def close(self):
            self.closed += 1

    watched = Watched()
    assert attnspec.validate(watched, select=SOFTMAX_CASES).conforms
    assert watched.closed == 1
    for bad in ({"layout": "nowhere"}, {"dtypes": "float8"}, {"conventions": {"mood": "good"}}):
        with pytest.raises(attnspec.AttnspecError):
            attnspec.validate(watched, select=SOFTMAX_CASES, **bad)
    assert watched.closed == 4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dtypes": "float8"}, "There is no dtype 'float8'"),
        ({"profile": "docs"}, "There is no profile 'docs'"),
        ({"select": "nothing"}, "No case matches 'nothing'"),
        ({"conventions": {"mood": "good"}}, "the unknown convention 'mood'"),
        ({"renames": {"Q": "nothing"}}, "no operation has an argument 'nothing'"),
        ({"operation": "attention"}, "There is no operation 'attention'"),
    ],
)
def test_bad_arguments_are_said_in_a_sentence(options, sentence):
    with pytest.raises(attnspec.AttnspecError) as caught:
        attnspec.validate(Adapter, **options)
    assert sentence in str(caught.value)


def modules_after(statement):
    listing = subprocess.run(
        [sys.executable, "-P", "-c", f"{statement}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(listing.stdout.split())


def test_importing_attnspec_imports_nothing_heavy():
    loaded = modules_after("import attnspec; attnspec.Unsupported, attnspec.__version__")
    assert "attnspec" in loaded
    assert not loaded & {"numpy", "rich", "torch", "jsonschema", "ml_dtypes", "flint", "click"}


def test_validating_imports_neither_schema_nor_oracle_nor_frameworks():
    call = f"attnspec.validate('reference', select={SOFTMAX_CASES!r}, dtypes='float32')"
    loaded = modules_after(f"import attnspec; {call}")
    assert "numpy" in loaded
    assert not loaded & {"jsonschema", "torch", "flint", "rich", "click"}


def test_public_names_are_those_that_are_listed():
    for name in attnspec.__all__:
        assert getattr(attnspec, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = attnspec.nothing


def test_a_report_prints_itself_in_three_lines():
    report = attnspec.validate(SimpleNamespace(softmax=lambda x, axis=-1: x, name="it"), select="documents/001/*")
    lines = repr(report).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("Report: it does not conform: ")
    assert "softmax, in float64" in lines[1]
    assert report.suite_version in lines[2]
    assert str(report) == repr(report)
    assert len(repr(report)) < 500


def test_what_a_report_holds_prints_itself_in_a_line_without_arrays():
    report = attnspec.validate(SimpleNamespace(softmax=lambda x, axis=-1: x), select="documents/001/*")
    (result, *_), (diagnosis, *_) = report.wrong, report.diagnosis
    for shown in (repr(result), repr(result.run), repr(diagnosis)):
        assert "\n" not in shown
        assert "array" not in shown
        assert len(shown) < 250
    assert repr(result).startswith(f"Result({result.case.id}, float64: fail, output[")
    assert repr(result.run) == f"Run({result.case.id}, float64: softmax)"
    assert f"{diagnosis.explains} of {diagnosis.of} failures of softmax" in repr(diagnosis)
