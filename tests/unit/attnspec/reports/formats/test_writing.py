"""Writing reports: the format is read from the name, and a path is looked at before anything is run."""

import json
from xml.etree import ElementTree as Xml

import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.reports.formats import check_writable, write_report
from attnspec.reports.formats.writing import badge

ROWS = "documents/001/softmax_of_rows"


@pytest.fixture(scope="module")
def report():
    return attnspec.validate("reference", select=ROWS)


def test_a_path_is_looked_at_before_anything_is_written(tmp_path):
    check_writable(tmp_path / "report.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "report.json").write_text("kept", "utf-8")
    check_writable(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("utf-8") == "kept"


def test_a_path_that_cannot_be_written_is_said_in_a_sentence(tmp_path):
    (tmp_path / "folder.json").mkdir()
    for path, sentence in (
        (tmp_path / "gone" / "report.json", f"there is no folder {tmp_path / 'gone'}"),
        (tmp_path / "folder.json", "is a folder; name a file"),
        (tmp_path / "report.txt", "the format is read from the suffix, and '.txt' is none of .json, .xml, .md, .html"),
        (tmp_path / "report", "the format is read from the suffix, and '' is none of .json, .xml, .md, .html"),
        (tmp_path / "badge.svg", "(a name that ends in badge.json gives a badge)"),
    ):
        with pytest.raises(UsageError) as caught:
            check_writable(path)
        assert sentence in str(caught.value)
        assert str(path) in str(caught.value)


def test_a_path_that_fails_after_all_is_said_in_a_sentence(tmp_path, report):
    with pytest.raises(UsageError, match="The report could not be written to"):
        write_report(report, tmp_path / "gone" / "report.json")


def test_the_end_of_the_name_says_the_format(tmp_path, report):
    written = {}
    for name in ("report.json", "badge.json", "attention-badge.json", "report.xml", "report.md"):
        write_report(report, tmp_path / name)
        written[name] = (tmp_path / name).read_text("utf-8")
    assert json.loads(written["report.json"])["count"] == len(report.results)
    assert json.loads(written["badge.json"])["label"] == "attnspec"
    assert written["attention-badge.json"] == written["badge.json"]
    assert Xml.fromstring(written["report.xml"]).tag == "testsuites"
    assert written["report.md"].startswith("### ")


@pytest.mark.parametrize(
    ("name", "message", "colour"),
    [
        ("reference", "conforms", "brightgreen"),
        ("student", "does not conform: 12 of 12 wrong", "red"),
        ("very_broken", "does not conform: 900 of 900 wrong", "red"),
    ],
)
def test_the_message_is_the_verdict(name, message, colour, request):
    shown = json.loads(badge(request.getfixturevalue(name)))
    assert shown == {"schemaVersion": 1, "label": "attnspec", "message": message, "color": colour}


def test_in_part_says_how_much(reference):
    summary = {**reference["summary"], "conformance": "conforms in part", "clauses_graded": 3, "clauses": 9}
    shown = json.loads(badge({**reference, "summary": summary}))
    assert (shown["message"], shown["color"]) == ("conforms in part: 3 of 9 clauses", "yellowgreen")


def test_nothing_graded_is_red(reference):
    summary = {**reference["summary"], "conformance": "does not conform", "statuses": {"unsupported": 5}}
    shown = json.loads(badge({**reference, "summary": summary}))
    assert (shown["message"], shown["color"]) == ("does not conform", "red")


def test_nothing_that_an_implementation_says_is_in_it(hostile):
    assert "script" not in badge(hostile)
