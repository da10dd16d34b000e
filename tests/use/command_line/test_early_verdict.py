"""The first failure, the core's results and the time left, said while a run goes on."""

import subprocess
import sys
from pathlib import Path

import pytest

from attnspec.command_line.early_verdict import Came, EarlyVerdict, Planned, time_in_words
from attnspec.grading import Verdict

ROOT = Path(__file__).parents[3]
PASS, FAIL = Verdict("pass"), Verdict("fail", message="output[0] is 2; expected 1.")


def lines(batches, planned, *, core=("core/a", "core/b"), every=1.0):
    """Return what is said of results that come batch by batch, one every so many seconds."""
    said, waiting = [], list(batches)
    early = EarlyVerdict(lambda: waiting.pop(0), lambda: planned, core, said.append, started=0.0)
    for number in range(len(batches)):
        early.look((number + 1) * every)
    return said


def came(case, verdict=PASS, seconds=0.0):
    return Came(case, "float64", verdict, seconds)


def test_the_core_is_said_as_soon_as_it_is_there_with_the_time_left():
    batches = [[came("core/a", seconds=1.0)], [came("core/b", seconds=1.0)], []]
    assert lines(batches, Planned(602, 2)) == ["smoke: 2 of 2; 600 to go, about 20 min"]


def test_the_first_failure_is_said_once_with_its_sentence():
    batches = [[came("core/a", FAIL)], [came("core/b", FAIL)], [came("x/c", FAIL)]]
    said = lines(batches, Planned(4_000, 2))
    assert said[0] == "first failure: core/a (float64): output[0] is 2; expected 1."
    assert said[1].startswith("smoke: 0 of 2; 3,998 to go, about ")
    assert len(said) == 2


@pytest.mark.parametrize("planned", [Planned(2, 2), Planned(12, 2)])
def test_nothing_is_said_of_a_run_that_is_about_to_end(planned):
    assert lines([[came("core/a", FAIL)], [came("core/b")]], planned, every=0.1) == []


def test_a_slow_run_says_the_time_left_every_half_minute():
    said = lines([[came(f"x/{number}", seconds=10.0)] for number in range(30)], Planned(30, 0), every=10.0)
    assert 1 < len(said) <= 10
    assert all(" of 30; " in line and ", about " in line for line in said)


def test_second_calls_are_part_of_the_time_left_and_wrong_answers_have_none():
    right = lines([[came("core/a")], [came("core/b", seconds=1.0)]], Planned(42, 2))
    wrong = lines([[came("core/a")], [came("core/b", FAIL, seconds=1.0)]], Planned(42, 2))
    assert right == ["smoke: 2 of 2; 40 to go, about 82 s"]
    assert wrong[-1] == "smoke: 1 of 2; 40 to go, about 40 s"


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (99, "99 s"), (240, "4 min"), (10_000, "3 h")])
def test_a_time_is_said_in_two_digits(seconds, words):
    assert time_in_words(seconds) == words


def test_a_pipe_gets_the_first_failure_before_the_verdict_and_stdout_has_the_verdict_alone():
    command = [sys.executable, "-m", "attnspec", "validate", "tests/examples/student_scale_missing.py", "--no-probes"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("first failure: ")
    assert "first failure" not in done.stdout
    quiet = subprocess.run([*command, "--quiet"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert quiet.stderr == ""
