"""An argument that is taken and that nothing graded shows, in runs of pytest with this plugin."""

import json

import pytest

from attnspec.command_line import main

pytest_plugins = ["pytester"]

SELECT = "documents/001/softmax_*"
MINE = """
import numpy as np

name = "mine"

def softmax(x, axis=-1):
    if axis in (0, None):
        raise NotImplementedError("the last axis alone")
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""
SAID = "*taken, and not graded: axis of softmax: code that ignores it passes as well; 2 results would show it*"


@pytest.fixture
def against(run, pytester):
    """Run pytest on an implementation that declines all that shows its axis, beside a baseline with a list of those."""
    pytester.makepyfile(mine=MINE)

    def run_against(listed, *options):
        assert main(["gate", "mine.py", f"--select={SELECT}", "--baseline=mine.json", "--update-baseline"]) == 0
        path = pytester.path / "mine.json"
        document = json.loads(path.read_text("utf-8"))
        assert [each["argument"] for each in document["ungraded_arguments"]] == ["axis"]
        if listed is None:
            del document["ungraded_arguments"]
        elif not listed:
            document["ungraded_arguments"] = []
        path.write_text(json.dumps(document), "utf-8")
        return run("--attnspec=mine.py", f"--attnspec-select={SELECT}", "--attnspec-baseline=mine.json", *options)

    return run_against


def test_without_a_baseline_it_is_said(run, pytester):
    pytester.makepyfile(mine=MINE)
    result = run("--attnspec=mine.py", f"--attnspec-select={SELECT}")
    assert result.ret == 0
    result.stdout.fnmatch_lines([SAID])


def test_a_baseline_that_does_not_list_it_fails_the_run(against):
    result = against(listed=False)
    assert result.ret == 1
    result.stdout.fnmatch_lines([SAID])


def test_a_baseline_that_lists_it_says_it_all(against):
    result = against(listed=True)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*taken, and not graded*")


def test_a_baseline_from_before_is_warned(against):
    result = against(listed=None)
    assert result.ret == 0
    result.stdout.fnmatch_lines([SAID])


def test_where_tests_are_deselected_it_is_only_said(against):
    result = against(False, "-k", "not whole")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*taken, and not graded: axis of softmax*1 result would show it*"])
