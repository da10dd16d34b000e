"""The committed defects: the file, what each excuses, and that the evidence still stands."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from attnspec.base.errors import FixtureError
from attnspec.base.extensions import THIRD_PARTY
from attnspec.contract import OPERATIONS
from attnspec_authoring.third_party import read_known_defects
from attnspec_authoring.third_party.known_defects import KNOWN_DEFECTS, judge
from attnspec_authoring.third_party.table import lines

DEFECTS = read_known_defects()


@pytest.mark.parametrize("known", DEFECTS, ids=lambda known: known.id)
def test_the_evidence_still_stands(known):
    for modules in re.findall(r"^(?:import|from) ([\w., ]+?)(?: import .+)?$", known.reproduction, re.MULTILINE):
        for library in (module.partition(".")[0] for module in modules.split(", ")):
            if find_spec(library) is None:
                pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", known.reproduction],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == known.measured


@pytest.mark.parametrize("known", DEFECTS, ids=lambda known: known.id)
def test_every_name_exists(known):
    operation = OPERATIONS["scaled_dot_product_attention"]
    assert set(known.implementations) <= set(THIRD_PARTY)
    assert set(known.states) <= set(operation.arguments)
    assert set(known.outputs) <= set(operation.outputs)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.13.0", True), ("2.13.0+cpu", True), ("2.14", True), ("2.12.9", False), (None, False), ("nightly", False)],
)
def test_a_version_is_compared_with_the_first(defect, version, expected):
    assert defect().is_in("torch", version) is expected


@pytest.mark.parametrize(("version", "expected"), [("2.14.0", True), ("2.14.1", False), ("2.9", False)])
def test_a_version_is_compared_with_the_last(defect, version, expected):
    assert defect(last_version="2.14.0").is_in("torch", version) is expected


def test_another_implementation_does_not_have_it(defect):
    assert not defect().is_in("onnx", "2.13.0")


@pytest.mark.parametrize(
    ("changes", "of_the_defect"),
    [
        ({"dtype": "float64"}, {}),
        ({"status": "error"}, {}),
        ({"status": "crash"}, {}),
        ({}, {"cases": ("masking/*",)}),
        ({}, {"outputs": ("weights",)}),
        ({}, {"states": ("x", "axis", "scale")}),
    ],
)
def test_what_is_not_its_doing_is_not_excused(defect, result, cases, changes, of_the_defect):
    entry = result()
    assert defect(states=("x",), outputs=("output",)).excuses(entry, cases[entry["case"]])
    assert not defect(**of_the_defect).excuses(result(**changes), cases[entry["case"]])


def test_a_damaged_file_is_distinguished_from_a_good_one(tmp_path):
    document = json.loads(KNOWN_DEFECTS.read_text("utf-8"))
    path = tmp_path / "known_defects.json"
    path.write_text(json.dumps(document | {"defects": [{"id": "Without Evidence"}]}), "utf-8")
    with pytest.raises(FixtureError, match=r"known_defects.json does not follow its schema at \$.defects\[0\]"):
        read_known_defects(path)
    path.write_text(json.dumps(document | {"defects": document["defects"][:1] * 2}), "utf-8")
    with pytest.raises(FixtureError, match="names the defect 'torch_flash_nan_query_row' 2 times"):
        read_known_defects(path)


def test_a_known_defect_is_no_failure(outcome, result, defect, cases):
    findings = judge([outcome(result(), result(status="pass", dtype="float64"))], [defect()], cases)
    assert findings.is_good
    assert list(findings.seen.values()) == ["sums_in_the_wrong_order"]
    assert not findings.gone


@pytest.mark.parametrize("status", ["fail", "error", "crash", "timeout", "malformed"])
def test_everything_else_that_is_wrong_is_a_failure(outcome, result, defect, cases, status):
    wrong = result(status=status, dtype="float64")
    findings = judge([outcome(wrong, result(status="pass"))], [defect()], cases)
    assert not findings.is_good
    assert [(failure.implementation, failure.result) for failure in findings.failures] == [("torch", wrong)]


def test_a_defect_that_no_longer_shows_is_reported_for_each_implementation(outcome, result, defect, cases):
    passes = result(status="pass")
    outcomes = [outcome(passes), outcome(passes, name="jax"), outcome(passes, name="onnx")]
    findings = judge(outcomes, [defect()], cases)
    assert [(known.id, name) for known, name in findings.gone] == [
        ("sums_in_the_wrong_order", "torch"),
        ("sums_in_the_wrong_order", "jax"),
    ]
    assert findings.is_good


def test_what_could_not_be_run_drops_no_other_and_is_not_good(outcome, result, defect, cases):
    broken = outcome(version=None, problem="no module")
    findings = judge([broken, outcome(result(status="pass"), name="onnx")], [defect()], cases)
    assert findings.missing == (broken,)
    assert not findings.gone
    assert not findings.is_good


def test_an_implementation_that_passes_nothing_is_not_good(outcome, result, cases):
    assert not judge([outcome(result(status="unsupported"))], [], cases).is_good


def test_the_printout(outcome, result, defect, cases):
    worst = {"output": "output", "index": [0], "got": 1.0, "expected": 2.0, "ratio": 0.25}
    outcomes = [
        outcome(result(), result(status="pass", dtype="float64", worst=worst), seconds=2.4),
        outcome(result(status="error", message="it raised"), name="onnx", version="1.23.2"),
        outcome(name="jax", version=None, problem="it has no wheels"),
    ]
    defects = [defect(implementations=("torch",))]
    printed = [*lines(outcomes, judge(outcomes, defects, cases), defects, cases)]
    text = "\n".join(printed)
    float64, float32 = (
        printed.index(next(line for line in printed if line.startswith(name))) for name in ("float64", "float32")
    )
    assert printed[float64].split() == ["float64", "cases", "torch", "onnx"]
    assert printed[float64 + 1].split()[-2:] == ["1", "."]
    assert printed[float64 + 2].split()[-2:] == ["0.25", "."]
    assert printed[float32 + 1].split()[-4:] == ["0", "~1", "0", "!1"]
    assert "Known defect sums_in_the_wrong_order: 1 of torch" in text
    assert "onnx on documents/001/softmax_of_rows in float32: error" in text
    assert "  it raised" in text
    assert "jax could not be run: it has no wheels" in text
    assert "torch 2.13.0+cpu: 2 results, 2 s" in text
    assert printed[-1] == "3 implementations: 1 passed, 1 with a known defect, 1 failed, 2 could not be run."


def test_failures_are_not_printed_without_end(outcome, result, cases):
    outcomes = [outcome(*[result(status="error")] * 30)]
    printed = [*lines(outcomes, judge(outcomes, [], cases), [], cases)]
    assert sum(line.startswith("torch on ") for line in printed) == 25
    assert "... and 5 more" in printed
