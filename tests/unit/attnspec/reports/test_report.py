"""report.json: follows its schema whatever happened, and holds what came back; summaries of results."""

import base64
import copy
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import ml_dtypes
import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.cases import load_suite, schema_validator
from attnspec.contract.implementation import Declaration, Outputs
from attnspec.process.process import isolated
from attnspec.reports.formats import report_to_json, write_report
from attnspec.reports.report import summarise
from attnspec.targets.target import Target

IMPLEMENTATIONS = Path(__file__).parents[3] / "examples"
ROWS = "documents/001/softmax_of_rows"


def softmax(x, axis=-1):
    return attnspec_reference.softmax(x, axis=axis)


def report_of(target, *select, **options):
    return attnspec.validate(target, select=select, **options)


def written(report, tmp_path):
    """The report as read back from the file that was written, checked against the schema."""
    path = tmp_path / "report.json"
    write_report(report, path)
    document = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema_validator("report").schema)
    schema_validator("report").validate(document)
    assert document == report_to_json(report)
    return document


def decoded(got):
    """What `got` holds, as an array."""
    dtype = ml_dtypes.bfloat16 if got["dtype"] == "bfloat16" else np.dtype(got["dtype"])
    shape = got["shape"] if got["crop"] is None else got["crop"]["shape"]
    return np.frombuffer(base64.b64decode(got["data"]), dtype).reshape(shape)


def test_a_passing_run(tmp_path):
    document = written(report_of("reference", "documents/00[12]/*"), tmp_path)
    assert document["implementation"]["adapter"] == "reference"
    assert document["summary"]["conformance"] == "conforms"
    assert document["summary"]["profiles"] == {
        "documents": {key: value for key, value in document["summary"].items() if key not in ("profiles", "families")}
    }
    assert document["summary"]["families"] == {"attention": document["summary"]["profiles"]["documents"]}
    assert document["left_out"] == {}
    assert document["summary"]["statuses"] == {"pass": document["count"]}
    assert document["suite"]["cases"] == len({result["case"] for result in document["results"]})
    assert document["diagnosis"] == []
    assert not any("got" in result for result in document["results"])
    assert all(result["worst"]["ratio"] <= 1 for result in document["results"] if result["worst"])


def test_a_failing_run_names_the_mistake(tmp_path):
    target = str(IMPLEMENTATIONS / "student_softmax_axis_0.py")
    document = written(report_of(target, "documents/000/*"), tmp_path)
    assert document["summary"]["conformance"] == "does not conform"
    wrong = [result for result in document["results"] if result["status"] == "fail"]
    assert wrong
    for result in wrong:
        assert result["check"] == "values"
        assert result["worst"]["ratio"] == "inf" or result["worst"]["ratio"] > 1
        assert "expected" in result["message"]
    named = [entry for entry in document["diagnosis"] if entry["clause"] is not None]
    assert named
    assert named[0]["explains"] <= named[0]["of"]


def test_an_unknown_mistake_is_called_unknown(tmp_path):
    document = written(report_of(SimpleNamespace(softmax=lambda x, axis=-1: softmax(x, axis) + 0.125), ROWS), tmp_path)
    assert [(entry["mistake"], entry["clause"]) for entry in document["diagnosis"]] == [("unknown", None)]


CRASHING = """
import os, time
def softmax(x, axis=-1):
    os._exit(3)
def combine_heads(x):
    time.sleep(60)
def split_heads(x, num_heads):
    return [x]
def causal_mask(query_length, key_length=None, offset=0, additive=False):
    raise RuntimeError("half of a pair: \\ud800")
"""


def test_a_run_that_crashes_and_hangs(tmp_path):
    path = tmp_path / "crashing.py"
    path.write_text(CRASHING, "utf-8")
    cases = (ROWS, "documents/002/combine_heads", "documents/002/split_heads", "documents/002/causal_mask_boolean")
    document = written(report_of(isolated(Target(str(path), timeout=0.5)), *cases), tmp_path)
    statuses = {result["operation"]: result["status"] for result in document["results"]}
    assert statuses == {
        "softmax": "crash",
        "combine_heads": "timeout",
        "split_heads": "malformed",
        "causal_mask": "error",
    }
    assert document["summary"]["statuses"] == {"crash": 1, "timeout": 1, "malformed": 1, "error": 1}
    assert not any("got" in result for result in document["results"])


def test_the_count_shows_a_report_that_lost_results(tmp_path):
    document = written(report_of("reference", "documents/001/*"), tmp_path)
    assert document["count"] == len(document["results"]) == sum(document["summary"]["statuses"].values())
    assert document["count"] > 5


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_got_is_what_was_returned_to_the_bit(dtype, tmp_path):
    returned = []

    def wrong(x, axis=-1):
        returned.append((softmax(x, axis) * 1.5).astype(x.dtype))
        return returned[0]

    adapter = SimpleNamespace(softmax=wrong, dtypes=(dtype,))
    (result,) = written(report_of(adapter, "documents/001/softmax_of_scores"), tmp_path)["results"]
    got = result["got"]["output"]
    assert (got["dtype"], got["shape"], got["crop"]) == (dtype, [3, 3], None)
    assert decoded(got).tobytes() == returned[0].tobytes()


@pytest.mark.parametrize("arrange", [lambda a: a.astype(">f8"), np.asfortranarray, lambda a: a[::-1][::-1]])
def test_got_does_not_depend_on_byte_order_or_strides(arrange, tmp_path):
    adapter = SimpleNamespace(softmax=lambda x, axis=-1: arrange(1.5 * softmax(x, axis)))
    document = written(report_of(adapter, ROWS), tmp_path)
    x = load_suite(select=(ROWS,)).cases[ROWS].inputs["x"]
    assert np.array_equal(decoded(document["results"][0]["got"]["output"]), 1.5 * softmax(x))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_json_cannot_write_are_words(number, tmp_path):
    adapter = SimpleNamespace(softmax=lambda x, axis=-1: softmax(x, axis) * number)
    (result,) = written(report_of(adapter, ROWS), tmp_path)["results"]
    assert result["worst"]["got"] == {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(number)]
    assert result["worst"]["ratio"] == "inf"
    assert not np.isfinite(decoded(result["got"]["output"])).any()


class Large:
    """Answers one case with a large array: it replaces the case's shape by its own."""

    def __init__(self, shape, wrong_at, shift=9.0):
        self.array = np.arange(float(np.prod(shape))).reshape(shape)
        self.array[wrong_at] += shift
        self.declaration = Declaration("large", None, "large", ("combine_heads",), ("float64",))

    def run(self, request):
        return Outputs({"output": self.array})

    def close(self):
        pass


def large_report(shape, wrong_at, tmp_path):
    """A report on combine_heads over a golden folder whose one case has this output shape."""
    batch, length, width = shape
    expected = np.arange(float(np.prod(shape))).reshape(shape)
    x = expected.reshape(batch, length, 1, width).transpose(0, 2, 1, 3)

    def tensor(array):
        return {"dtype": "float64", "shape": list(array.shape), "data": array.tolist()}

    case = {
        "format": 1,
        "id": "documents/large",
        "revision": 1,
        "title": "A large tensor",
        "operation": "combine_heads",
        "profile": "documents",
        "clauses": ["combine_heads.order"],
        "source": {"document": "none"},
        "dtypes": ["float64"],
        "inputs": {"x": tensor(x)},
        "attributes": {},
        "expected": {"all": {"output": tensor(expected)}},
    }
    folder = tmp_path / "golden"
    (folder / "documents").mkdir(parents=True)
    content = json.dumps(case).encode()
    (folder / "documents" / "large.json").write_bytes(content)
    # The digest vouches for the file: checking so many numbers against the schema takes seconds.
    entry = {"revision": 1, "sha256": hashlib.sha256(content).hexdigest()}
    index = {"format": 1, "count": 1, "cases": {"documents/large": entry}}
    (folder / "index.json").write_text(json.dumps(index), "utf-8")
    return attnspec.validate(Large(shape, wrong_at), golden=folder)


@pytest.mark.parametrize(
    ("shape", "wrong_at"),
    [
        ((2, 100, 50), (0, 0, 0)),
        ((2, 100, 50), (1, 99, 49)),
        ((2, 100, 50), (0, 3, 47)),
        ((2, 100, 50), (1, 50, 0)),
        ((2, 600, 50), (1, 431, 7)),
    ],
)
def test_a_large_array_is_cropped_round_its_worst_element(shape, wrong_at, tmp_path):
    (result,) = written(large_report(shape, wrong_at, tmp_path), tmp_path)["results"]
    assert tuple(result["worst"]["index"]) == wrong_at
    got = result["got"]["output"]
    assert got["shape"] == list(shape)
    part = decoded(got)
    assert 16 * 1024 < part.nbytes <= 64 * 1024
    offsets, lengths = got["crop"]["offsets"], got["crop"]["shape"]
    whole = Large(shape, wrong_at).array
    window = tuple(slice(start, start + length) for start, length in zip(offsets, lengths, strict=True))
    assert np.array_equal(part, whole[window])
    inside = tuple(position - start for position, start in zip(wrong_at, offsets, strict=True))
    assert all(0 <= position < length for position, length in zip(inside, lengths, strict=True))
    assert part[inside] == whole[wrong_at]


def test_an_array_of_64_kib_is_kept_whole(tmp_path):
    (result,) = written(large_report((2, 64, 64), (1, 1, 1), tmp_path), tmp_path)["results"]
    assert result["got"]["output"]["crop"] is None
    assert decoded(result["got"]["output"]).shape == (2, 64, 64)


@pytest.fixture(scope="module")
def a_report():
    adapter = SimpleNamespace(softmax=lambda x, axis=-1: 1.5 * softmax(x, axis))
    return report_to_json(report_of(adapter, ROWS, "documents/001/single_head"))


def every_object(document, path=()):
    if isinstance(document, dict):
        yield path
        for key, value in document.items():
            yield from every_object(value, (*path, key))
    elif isinstance(document, list):
        for position, value in enumerate(document):
            yield from every_object(value, (*path, position))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def test_the_schema_knows_every_field_and_no_other(a_report):
    validator = schema_validator("report")
    assert validator.is_valid(a_report)
    for path in every_object(a_report):
        stranger = copy.deepcopy(a_report)
        at(stranger, path)["Stranger"] = 1
        assert not validator.is_valid(stranger), path


OPEN = ("statuses", "profiles", "families", "left_out", "conventions", "got", "parameters")
"""Objects whose keys are names: none of them is expected."""

LATER = (
    *("families", "left_out", "certainty", "suspects", "laws", "probes", "same", "candidates", "undeclared"),
    *("tensors", "backward", "without", "asked_in", "not_arranged", "could_be_declared", "arguments", "systematic"),
    *("account", "invariance"),
)
"""Fields that the first reports did not have; they stay readable without."""


def test_the_schema_demands_every_field(a_report):
    validator = schema_validator("report")
    for path in every_object(a_report):
        if path and path[-1] in OPEN:
            continue
        for key in at(a_report, path):
            lacking = copy.deepcopy(a_report)
            del at(lacking, path)[key]
            may_lack = key in LATER or (key == "got" and "worst" not in path)
            assert validator.is_valid(lacking) == may_lack, (path, key)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("count",), -1),
        (("suite", "digest"), "0"),
        (("results", 0, "status"), "passed"),
        (("results", 0, "dtype"), "float8"),
        (("results", 0, "case"), "Softmax of rows"),
        (("results", 0, "seconds"), -1.0),
        (("results", 0, "clauses"), []),
        (("summary", "conformance"), "conforms mostly"),
        (("summary", "statuses"), {"passed": 1}),
    ],
)
def test_the_schema_refuses_other_values(path, value, a_report):
    changed = copy.deepcopy(a_report)
    at(changed, path[:-1])[path[-1]] = value
    assert not schema_validator("report").is_valid(changed)


def test_only_a_fail_has_a_check_and_only_what_is_wrong_has_got(a_report):
    validator = schema_validator("report")
    wrong = next(position for position, result in enumerate(a_report["results"]) if result["status"] == "fail")
    for changes in ({"check": None}, {"status": "pass", "check": None}, {"status": "error"}):
        changed = copy.deepcopy(a_report)
        changed["results"][wrong].update(changes)
        assert not validator.is_valid(changed), changes


class HalfOfIt:
    """A softmax that overflows; everything else is not offered."""

    dtypes = ("float64",)

    def softmax(self, x, axis=-1):
        exponentials = np.exp(x)
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


@pytest.fixture(scope="module")
def report():
    return attnspec.validate(HalfOfIt(), profile=["layout", "documents"])


def test_the_counts_of_the_profiles_add_up(report):
    profiles = report.by_profile.values()
    assert list(report.by_profile) == ["documents", "layout"]
    for status, count in report.summary.counts.items():
        assert sum(summary.counts.get(status, 0) for summary in profiles) == count
    assert sum(summary.elements_graded for summary in profiles) == report.summary.elements_graded > 0
    assert sum(report.summary.counts.values()) == len(report.results)


def test_a_profile_is_counted_like_a_whole_report(report):
    for profile, summary in report.by_profile.items():
        assert summary == summarise([result for result in report.results if result.case.profile == profile])


def test_one_family_is_the_whole(report):
    assert list(report.by_family.values()) == [report.summary]


def test_nothing_graded_is_neither_right_nor_wrong(report):
    unsupported = [result for result in report.results if result.status == "unsupported"]
    assert summarise(unsupported).conformance == "nothing graded"
    assert not replace(report, results=tuple(unsupported)).conforms
    assert summarise(unsupported).median is None


def test_some_clauses_graded_is_conformance_in_part(report):
    right = [result for result in report.results if not result.is_wrong]
    assert summarise(right).conformance == "conforms in part"
    assert summarise([result for result in right if result.status == "pass"]).conformance == "conforms"
