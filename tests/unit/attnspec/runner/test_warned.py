"""Warnings of an implementation's own code: counted, said in one line of every report, and never shown."""

import warnings

import numpy as np
import pytest

import attnspec
from attnspec.reports.account import account_of
from attnspec.reports.formats.writing import write_report

SELECT = "stress/*"


def overflowing(x, axis=-1):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


def quiet(x, axis=-1):
    with np.errstate(all="ignore"):
        return overflowing(x, axis)


def wordy(x, axis=-1):
    warnings.warn("this is slow\nand long", UserWarning, stacklevel=1)
    return quiet(x, axis)


def outdated(x, axis=-1):
    warnings.warn("this will go", DeprecationWarning, stacklevel=1)
    return quiet(x, axis)


def said_of(function):
    report = attnspec.validate(function, operation="softmax", select=SELECT, probes=False)
    return [line for line in report_lines(report) if line.startswith("Your code warned")]


def report_lines(report):
    return account_of(report).unseen


@pytest.mark.filterwarnings("error")
def test_they_are_counted_and_the_first_is_said_with_its_line(recwarn):
    (said,) = said_of(overflowing)
    line = overflowing.__code__.co_firstlineno + 1
    assert f"times, first: RuntimeWarning: overflow encountered in exp (line {line} of test_warned.py)." in said
    assert not recwarn.list


def test_only_the_first_line_of_a_warning_is_said():
    (said,) = said_of(wordy)
    assert "UserWarning: this is slow (line " in said


@pytest.mark.parametrize("function", [quiet, outdated])
def test_what_the_code_or_python_ignores_is_not_counted(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert said_of(function) == []


def test_what_attnspec_itself_does_is_not_counted():
    report = attnspec.validate("reference", profile="nonfinite", dtypes=("float64", "float16"))
    assert not [line for line in report_lines(report) if "warned" in line]


@pytest.mark.parametrize("suffix", ["json", "md", "html"])
def test_the_line_is_in_every_report(tmp_path, suffix):
    report = attnspec.validate(overflowing, operation="softmax", select=SELECT, probes=False)
    path = tmp_path / f"report.{suffix}"
    write_report(report, path)
    assert "Your code warned " in path.read_text("utf-8")
    assert "Your code warned " in report._repr_html_()
