"""Every student's file says which mistake it makes, and is reported so."""

import re
from pathlib import Path

import pytest

import attnspec

STUDENTS = sorted((Path(__file__).parents[3] / "examples").glob("student_*.py"))


@pytest.mark.parametrize("student", STUDENTS, ids=lambda path: path.stem)
def test_the_mistake_of_a_student_is_reported(student):
    (mistake,) = re.findall(r'^mistake = "(.+)"$', student.read_text("utf-8"), re.MULTILINE)
    report = attnspec.validate(str(student))
    assert report.diagnosis[0].mistake == mistake
    assert {entry.mistake for entry in report.diagnosis} <= {mistake, "unknown"}
