"""Some timeouts in a row are the last: the rest is not run, in either pass, and the report says so."""

import json
import shlex
import sys

import pytest

HANGING = """
import time
import numpy as np

calls = 0


def softmax(x, axis=-1):
    with open("calls", "a") as file:
        file.write("+")
    number = len(open("calls").read())
    if number in HANGS:
        time.sleep(60)
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""
"""A call hangs by its number, counted through every start of the process."""

ALWAYS = range(1, 100)


@pytest.fixture
def hanging(command):
    def run(*words, hangs=ALWAYS, timeout="0.5"):
        (command.folder / "calls").unlink(missing_ok=True)
        source = HANGING.replace("HANGS", repr(set(hangs)))
        (command.folder / "mine.py").write_text(source, "utf-8")
        ran = command(*words, "--timeout", timeout)
        ran.calls = len((command.folder / "calls").read_text("utf-8"))
        ran.short = "".join(status[0] for status in ran.statuses.values())
        return ran

    return run


@pytest.mark.parametrize(
    ("words", "hangs", "statuses", "calls"),
    [
        ((), ALWAYS, "ttt", 3),
        (("--give-up-after", "1"), ALWAYS, "t", 1),
        pytest.param(("--give-up-after", "4"), ALWAYS, "tttt", 4, marks=pytest.mark.proof),
        pytest.param((), {2, 3, 4}, "pttt", 4, marks=pytest.mark.proof),
        # the second pass: calls 6 to 10 ask the five cases again, the last one first
        pytest.param((), {6, 7, 8}, "ppttt", 8, marks=pytest.mark.proof),
        (("--give-up-after", "2"), {5, 6}, "ppptt", 6),
    ],
)
def test_timeouts_in_a_row_are_the_last(words, hangs, statuses, calls, hanging):
    ran = hanging("validate", *words, hangs=hangs)
    assert (ran.status, ran.short, ran.calls) == (1, statuses, calls)
    assert ran.report["ended_early"] == "given up"
    assert ran.report["not_run"] == 5 - len(statuses)
    assert ran.report["summary"]["conformance"] == "does not conform"
    left = 5 - len(statuses)
    said = f"{left} of 5 not run" if left else "Not everything was run a second time"
    assert f"{said}, because calls timed out one after the other." in ran.out
    assert ran.left == []


@pytest.mark.parametrize(("words", "hangs"), [((), {1, 2, 4, 5}), (("--give-up-after", "6"), {1, 2, 3, 4, 5})])
def test_timeouts_that_are_fewer_cost_their_cases_alone(words, hangs, hanging):
    ran = hanging("validate", *words, hangs=hangs)
    assert (ran.status, ran.calls) == (1, 5 + 5 - len(hangs))
    assert ran.short == "".join("t" if call in hangs else "p" for call in range(1, 6))
    assert "not_run" not in ran.report
    assert "ended_early" not in ran.report


@pytest.mark.proof
def test_timeouts_at_the_very_end_leave_nothing_out(hanging):
    ran = hanging("validate", hangs={8, 9, 10})
    assert (ran.status, ran.short) == (1, "tttpp")
    assert "ended_early" not in ran.report


def test_the_gate_stays_shut_though_the_timeouts_are_expected(hanging, command):
    assert hanging("gate", "--baseline", "b.json", "--update-baseline", "--give-up-after", "6").status == 0
    assert len(json.loads((command.folder / "b.json").read_text("utf-8"))["failures"]) == 5
    ran = hanging("gate", "--baseline", "b.json")
    assert ran.status == 1
    assert "2 of 5 not run, because calls timed out one after the other." in ran.out
    ran = hanging("gate", "--baseline", "b.json", "--update-baseline")
    assert ran.status == 2
    assert "a baseline is written from a whole run" in ran.err


def test_a_program_is_given_up_too(command):
    (command.folder / "program.py").write_text(
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    if json.loads(line)['type'] == 'start':\n"
        "        print(json.dumps({'type': 'started', 'protocol': 1, 'name': 'slow', 'operations': ['softmax']}))\n"
        "        sys.stdout.flush()\n"
        "    else:\n"
        "        time.sleep(60)\n",
        "utf-8",
    )
    program = shlex.join([sys.executable, "program.py"])
    ran = command("validate", "--timeout", "0.5", target=("--command", program))
    assert (ran.status, "".join(status[0] for status in ran.statuses.values())) == (1, "ttt")
    assert ran.report["not_run"] == 2
    assert ran.left == []


def test_where_nothing_has_a_time_limit_there_is_nothing_to_give_up(command):
    command.adapter("")
    ran = command("validate", "--give-up-after", "2")
    assert ran.status == 2
    assert ran.err == "attnspec: --give-up-after 2: no call has a time limit in this process; add --timeout SECONDS."
