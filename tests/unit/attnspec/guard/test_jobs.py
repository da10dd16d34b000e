"""Several jobs come to the same report; an accident in one of them costs its own share, and nothing stays behind."""

import shlex
import signal
import sys
import time

import pytest

EVERYTHING = ("--select", "*")
UNTOLD = ("seconds",)

WRONG_ROWS = """
import numpy as np

name = "mine"


def softmax(x, axis=-1):
    exponentials = np.exp(x - x.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


def scaled_dot_product_attention(query, key, value):
    scores = query @ key.swapaxes(-1, -2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return weights / weights.sum(axis=-1, keepdims=True) @ value
"""


def reported(report):
    """A report without what differs from run to run."""
    return (
        report
        | {
            "results": [
                {key: value for key, value in result.items() if key not in UNTOLD} for result in report["results"]
            ]
        }
        | {"invocation": None}
    )


@pytest.mark.parametrize(
    ("kept", "jobs"),
    [
        ("imported", "5"),
        ("isolated", "2"),
        pytest.param("imported", "2", marks=pytest.mark.proof),
        pytest.param("isolated", "5", marks=pytest.mark.proof),
    ],
)
def test_several_jobs_come_to_the_same_report(kept, jobs, command):
    (command.folder / "mine.py").write_text(WRONG_ROWS, "utf-8")
    words = ("--isolate",) if kept == "isolated" else ()
    words += ("--profile", "documents", "--profile", "core", *EVERYTHING)
    one = command("validate", *words)
    several = command("validate", "--jobs", jobs, *words)
    assert one.status == several.status == 1
    assert len(one.report["results"]) > 50
    assert reported(several.report) == reported(one.report)
    assert several.out == one.out
    assert several.left == []


def test_refusals_stay_with_their_counterparts(command):
    words = ("validate", "--profile", "rejects", "--profile", "documents", *EVERYTHING)
    one, several = command(*words, target=("reference",)), command(*words, "--jobs", "4", target=("reference",))
    assert one.status == several.status == 0
    assert reported(several.report) == reported(one.report)


def test_a_crash_costs_the_share_of_its_job(command):
    """Five cases in two jobs: the first has columns, rows and whole_array, the second queries and scores."""
    command.adapter("\ndef accident(x):\n    if x.shape == (3, 4):\n        os._exit(0)\n", call=2)
    ran = command("validate", "--jobs", "2")
    assert ran.status == 1
    assert ran.statuses == {"columns": "pass", "queries": "pass", "rows": "crash", "scores": "pass"}
    assert ran.report["not_run"] == 1
    assert ran.report["ended_early"] == "crashed"
    assert "1 of 5 not run" in ran.out
    assert ran.left == []


def test_a_target_that_cannot_be_imported_is_reported_once(command):
    command.adapter("os._exit(3)")
    ran = command("validate", "--jobs", "3")
    assert (ran.status, ran.report, ran.left) == (2, None, [])
    assert ran.err.count("ended its process with exit status 3 while it was imported") == 1


def test_each_job_gives_up_by_itself(command):
    command.adapter("\ndef accident(x):\n    time.sleep(60)\n", call=1)
    ran = command("validate", "--jobs", "2", "--timeout", "1", "--give-up-after", "1")
    assert ran.status == 1
    assert "".join(status[0] for status in ran.statuses.values()) == "tt"
    assert (ran.report["not_run"], ran.report["ended_early"]) == (3, "given up")
    assert ran.left == []


HANGS = """

def accident(x):
    open(f"hangs{os.getpid()}", "w").close()
    while True:
        time.sleep(60)
"""


@pytest.mark.parametrize("words", [(), ("--isolate",)], ids=["imported", "isolated"])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_signal_ends_all_of_it(words, number, status, command):
    command.adapter(HANGS, call=2)
    process = command.start("validate", "--jobs", "2", *words)
    deadline = time.monotonic() + 60
    while len(list(command.folder.glob("hangs*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    ran = command.end(process)
    assert ran.status == status
    assert ran.left == []
    if number != signal.SIGKILL:
        assert list(ran.statuses.values()) == ["pass", "pass"]
        assert (ran.report["not_run"], ran.report["ended_early"]) == (3, "interrupted")


def test_programs_run_side_by_side(command):
    program = ("--command", shlex.join([sys.executable, "-P", "-m", "attnspec.process.serving", "reference"]))
    one, several = command("validate", target=program), command("validate", "--jobs", "3", target=program)
    assert one.status == several.status == 0
    assert reported(several.report) == reported(one.report)


def test_the_first_wrong_result_is_for_one_job(command):
    command.adapter("")
    ran = command("validate", "--jobs", "2", "--fail-fast")
    assert ran.status == 2
    assert "--jobs 2 and --fail-fast: which result is the first, only one job can say." in ran.err
