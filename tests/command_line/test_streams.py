"""What the command line does when stdout cannot take what it says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
STUDENT = str(Path(__file__).parents[1] / "implementations" / "student_scale_missing.py")
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
@pytest.mark.parametrize("arguments", [("list",), ("explain", "sdpa.scores"), VALIDATE])
def test_a_full_disk_is_told_in_a_sentence(arguments):
    with FULL.open("w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("attnspec: stopped, because the system refused")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


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
