"""The badge, as https://shields.io/badges/endpoint-badge reads it."""

import json

import pytest

from attnspec.reports.formats.writing import badge


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
