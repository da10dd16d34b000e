"""What the command line does when stdout cannot take what it says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
STUDENT = str(Path(__file__).parents[2] / "examples" / "student_scale_missing.py")
VALIDATE = ("validate", "reference", "--select", "documents/001/softmax_of_rows")


def run(*arguments, stdout=subprocess.PIPE, **environment):
    return subprocess.run(
        [sys.executable, "-m", "attnspec", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        timeout=60,
        check=False,
    )


def test_what_ascii_lacks_is_spelt_out():
    done = run("validate", STUDENT, "--profile", "documents", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, "")
    assert "1/\\u221a" in done.stdout


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("list",), ("explain", "sdpa.scores")])
def test_a_full_disk_is_reported_in_a_sentence(arguments):
    with FULL.open("w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("attnspec: stopped, because the system refused")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


WRONG = ("validate", STUDENT, "--profile", "documents")


@pytest.mark.skipif(os.name != "posix", reason="needs sh")
@pytest.mark.parametrize("redirection", ["| true", "| head -1", "> /dev/full", ">&-"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (VALIDATE, 0),
        pytest.param(WRONG, 1, marks=pytest.mark.proof),
        pytest.param(("gate", *VALIDATE[1:]), 0, marks=pytest.mark.proof),
        (("gate", *WRONG[1:]), 1),
    ],
)
def test_reports_are_written_and_the_status_is_the_verdicts_whatever_stdout_is(
    redirection, arguments, status, tmp_path
):
    report, reported = tmp_path / "report.json", tmp_path / "status"
    done = subprocess.run(
        [
            *("sh", "-c", f'{{ "$0" -m attnspec "$@"; echo $? > {reported}; }} {redirection}'),
            *(sys.executable, *arguments, "--report", str(report)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert int(reported.read_text("utf-8")) == status
    assert report.stat().st_size > 0
    full = redirection.endswith("full")
    assert done.stderr.startswith("attnspec: the verdict could not be printed") == full
    assert done.stderr.count("\n") == full


@pytest.mark.skipif(os.name != "posix", reason="needs sh")
def test_without_a_stdout_the_status_still_says_it():
    done = subprocess.run(
        ["sh", "-c", '"$0" -m attnspec "$@" >&-', sys.executable, *VALIDATE],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
