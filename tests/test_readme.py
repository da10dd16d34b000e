"""The README: short, in order, and every command in it works as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line[2:] for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]
IMPLEMENTATIONS = ROOT / "tests" / "implementations"
QUICK = ("attnspec list ", "attnspec show ", "attnspec explain ", " ./mine.py", " --profile smoke")
"""Words of the commands that are tried in every run of the tests; that all of them work is a proof."""


@pytest.fixture
def folder(tmp_path):
    """A folder with the reader's file, as the README gives it, and the program of the protocol."""
    mine = next(block for kind, block in BLOCKS if kind == "python" and block.startswith("# mine.py"))
    (tmp_path / "mine.py").write_text(mine, encoding="utf-8")
    for program in (IMPLEMENTATIONS / "javascript").glob("*.mjs"):
        shutil.copy(program, tmp_path)
    return tmp_path


@pytest.fixture
def run(folder):
    """Run a command of the README where ``attnspec`` and ``pytest`` are those of this environment."""
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Nothing is downloaded: what pip is asked for is installed already.
    environment = os.environ | {"PATH": commands, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def run_command(command):
        return subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return run_command


def in_order(commands):
    """Put together the commands that read what an earlier one wrote."""
    sessions = []
    for command in commands:
        reads = re.search(r"\b(report\.json|attention\.json)", command)
        first = sessions and reads and next((session for session in sessions if reads[1] in session[0]), None)
        if first:
            first.append(command)
        else:
            sessions.append([command])
    return sessions


def is_quick(session):
    return len(session) == 1 and any(words in session[0] for words in QUICK)


@pytest.mark.parametrize(
    "session",
    [
        pytest.param(session, id=session[0], marks=() if is_quick(session) else pytest.mark.proof)
        for session in in_order(COMMANDS)
    ],
)
def test_every_command_works(session, run):
    if "node" in session[0] and shutil.which("node") is None:
        pytest.skip("there is no node")
    for command in session:
        done = run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr


def test_the_failure_is_what_the_student_is_told(run):
    shown = next(block for kind, block in BLOCKS if kind == "text")
    told = run(f"attnspec validate {IMPLEMENTATIONS / 'student_softmax_axis_0.py'}")
    assert told.returncode == 1
    printed = [line.rstrip() for line in told.stdout.splitlines()]
    lines = shown.splitlines()
    start = printed.index(lines[0])
    assert printed[start : start + len(lines)] == lines


def test_commands_were_found():
    assert {command.split()[0] for command in COMMANDS} == {"pip", "attnspec", "pytest"}
    assert len(COMMANDS) > 10


def test_it_is_short_and_in_order():
    assert README.count("\n") <= 200
    headings = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert headings == ["Quickstart", "Reading a failure", "In your CI", "Other languages", "Contributing"]


def test_every_file_that_it_names_is_there():
    for target in re.findall(r"\]\(([^)#]+)", README):
        assert (ROOT / target).exists(), target
