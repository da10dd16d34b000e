"""Reports of hostile and of very broken implementations, shared by the tests of all formats."""

import copy
from pathlib import Path

import pytest

import attnspec
from attnspec.cases import schema_validator
from attnspec.reports.formats import report_to_json

IMPLEMENTATIONS = Path(__file__).parents[3] / "examples"

HOSTILE_TEXT = (
    "<script>alert(1)</script>|`code` ``` **bold** @octocat #12 http://example.org www.example.org "
    "\x1b[31m\x1b[2J\x00\x07\u202e\ud800 ]]> &amp; <!-- --> $x$ [link](javascript:alert(1))"
    "\n# heading\n- item\n</details>"
)


class Hostile:
    """An adapter whose names and messages try to leave their line."""

    name = HOSTILE_TEXT
    version = "\u202e" + HOSTILE_TEXT
    dtypes = ("float64",)

    def softmax(self, x, axis=-1):
        raise ValueError(HOSTILE_TEXT + "x" * 10_000)

    def combine_heads(self, x):
        raise attnspec.Unsupported(HOSTILE_TEXT + "y" * 10_000)

    def split_heads(self, x, num_heads):
        return HOSTILE_TEXT


def checked(report):
    document = report_to_json(report)
    schema_validator("report").validate(document)
    return document


@pytest.fixture(scope="session")
def hostile():
    """report.json of an adapter that is hostile in all it says."""
    report = attnspec.validate(Hostile(), select=["documents/001/softmax_*", "documents/002/*_heads"])
    document = checked(report)
    document["implementation"]["adapter"] = f"./hostile.py {HOSTILE_TEXT}"
    return document


@pytest.fixture(scope="session")
def student():
    """report.json of a student's file with one mistake."""
    return checked(attnspec.validate(str(IMPLEMENTATIONS / "student_softmax_axis_0.py"), profile="documents"))


@pytest.fixture(scope="session")
def reference():
    """report.json of the reference."""
    return checked(attnspec.validate("reference", select=["documents/001/*", "rejects/*"]))


@pytest.fixture(scope="session")
def very_broken(student):
    """report.json with 900 failing cases, every one with a message of 10,000 characters."""
    document = copy.deepcopy(student)
    wrong = next(result for result in document["results"] if result["status"] == "fail")
    del wrong["got"]
    document["results"] = [
        {**wrong, "case": f"core/broken_{number}", "message": f"{number} " + "wrong `@x` " * 1_000}
        for number in range(900)
    ]
    count = document["count"] = len(document["results"])
    document["summary"]["statuses"] = {"fail": count}
    return document
