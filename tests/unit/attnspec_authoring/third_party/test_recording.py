"""Recording of a run: what is counted, which failures a defect explains, and what the file says when it is read."""

import datetime
import json

import pytest

from attnspec.base.errors import FixtureError
from attnspec_authoring.results import BIN_EDGES, Count, read_result
from attnspec_authoring.third_party.recording import recorded, write_result

DAY = datetime.date(2026, 11, 29)
REPORT = {
    "implementation": {"name": "torch", "conventions": {"softmax.fully_masked_row": "nan"}},
    "environment": {"python": "3.11.7", "platform": "linux-x86_64", "numpy": "2.4.6"},
    "suite": {"version": "0.1.0", "cases": 4, "digest": "0" * 64},
    "left_out": {"rotary": 237},
}


def worst(ratio, **changes):
    return {
        "output": "output", "index": [0, 2], "got": 1.0, "expected": 2.0, "tolerance": 0.5, "error": 1.0, "ratio": ratio
    } | changes  # fmt: skip


@pytest.fixture
def stored(outcome, defect, cases, tmp_path):
    """What is read again of these results."""

    def write(*results, defects=(), **changes):
        document = recorded(outcome(*results, report=REPORT, **changes), defects, cases, date=DAY)
        return read_result(write_result(document, tmp_path))

    return write


def test_results_are_counted(stored, result, defect):
    entries = [
        result(),
        result(dtype="float64"),
        result(dtype="float16", status="pass"),
        result(dtype="bfloat16", status="unsupported", message="no bfloat16"),
    ]
    read = stored(*entries, defects=[defect()])
    assert read.counts == (
        Count("softmax", "documents", "bfloat16", 0, 0, 0, 1),
        Count("softmax", "documents", "float16", 1, 0, 0, 0),
        Count("softmax", "documents", "float32", 0, 1, 0, 0),
        Count("softmax", "documents", "float64", 0, 0, 1, 0),
    )
    assert (read.passed, read.known, read.failed) == (1, 1, 1)
    assert [(failure.dtype, failure.defect) for failure in read.failures] == [
        ("float32", "sums_in_the_wrong_order"),
        ("float64", None),
    ]
    assert [(entry.sentence, entry.results) for entry in read.unsupported] == [("no bfloat16", 1)]


@pytest.mark.parametrize(
    ("ratio", "position"),
    [
        (0.0, 0),
        (1e-9, 1),
        (1.0, BIN_EDGES.index(1.0) + 1),
        (1.001, BIN_EDGES.index(1.0) + 2),
        (0.5, BIN_EDGES.index(0.5) + 1),
        (5000.0, len(BIN_EDGES) + 1),
        ("inf", len(BIN_EDGES) + 1),
        ("nan", len(BIN_EDGES) + 1),
    ],
)
def test_a_ratio_has_its_bin(stored, result, ratio, position):
    [distribution] = stored(result(worst=worst(ratio))).distributions
    assert [index for index, count in enumerate(distribution.bins) if count] == [position]


def test_the_worst_is_one_that_passed(stored, result):
    entries = [
        result(status="pass", worst=worst(0.25)),
        result(status="pass", worst=worst(0.75, output="weights")),
        result(worst=worst(2.0)),
    ]
    [distribution] = stored(*entries).distributions
    assert distribution.worst is not None
    assert (distribution.worst.output, distribution.worst.ratio) == ("weights", 0.75)


def test_a_failure_without_words_says_what_came(stored, result):
    [failure] = stored(result(message="", worst=worst("inf", got="nan"))).failures
    assert failure.sentence == "output[0, 2] is nan; expected 2 within 0.5."
    assert failure.ratio == float("inf")


def test_long_sentences_are_shortened(stored, result):
    [failure] = stored(result(status="error", message="It raised.\n" + "x" * 1000)).failures
    assert failure.sentence.startswith("It raised. xxx")
    assert len(failure.sentence) == 240


def test_the_file_has_the_name_of_the_release(stored, result, tmp_path):
    read = stored(result(status="pass"), version="2.13.0+cpu")
    assert (read.version, read.release, read.date) == ("2.13.0+cpu", "2.13.0", "2026-11-29")
    path = tmp_path / "torch" / "2.13.0.json"
    assert json.loads(path.read_text("utf-8"))["environment"] == REPORT["environment"]


def test_what_could_not_be_run_is_not_recorded(outcome, cases):
    with pytest.raises(FixtureError, match="no report to record: no module"):
        recorded(outcome(version=None, problem="no module"), [], cases, date=DAY)


def test_a_document_that_breaks_the_schema_is_not_written(outcome, result, cases, tmp_path):
    document = recorded(outcome(result(), report=REPORT), [], cases, date=DAY)
    with pytest.raises(FixtureError, match=r"does not follow its schema at \$.profiles"):
        write_result(document | {"profiles": "core"}, tmp_path)
    assert not [*tmp_path.iterdir()]
