"""The guide to one case: every command in it works as it stands, in the order of the page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "spec" / "guides" / "one-case.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line[2:] for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]
WRONG = ("attnspec debug core/plain ./mine.py", "attnspec validate ./mine.py", "pytest ")
"""What ends with 1, because the reader's function is wrong."""


@pytest.fixture
def run(tmp_path, warm_commands):
    """Run a command in a folder with the reader's files, where ``attnspec`` is that of this environment."""
    for kind, block in BLOCKS:
        name = re.match(r"# (\w+\.py)$", block.splitlines()[0])
        if kind == "python" and name:
            (tmp_path / name[1]).write_text(block, encoding="utf-8")
    for language in ("c", "go"):
        shutil.copy(ROOT / "tests" / "examples" / language / f"attention.{language}", tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run_command(command):
        program, *words = shlex.split(command)
        if program == "attnspec":
            return warm_commands.run(*words, cwd=tmp_path, env=environment)
        return subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run_command


@pytest.mark.skipif(
    "ATTNSPEC_COMPILERS" not in os.environ and not all(map(shutil.which, ("cc", "go"))),
    reason="a compiler is missing, which fails in CI alone",
)
def test_every_command_works_in_the_order_of_the_page(run):
    for command in COMMANDS:
        done = run(command)
        assert done.returncode == (1 if command.startswith(WRONG) else 0), f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        assert command.startswith(("cc", "go", "./attention")) or done.stdout


def test_the_output_is_what_the_reader_sees(run):
    shown = next(block for kind, block in BLOCKS if kind == "text").splitlines()
    printed = run(next(command for command in COMMANDS if "float32 --elements 3" in command)).stdout.splitlines()
    start = next(index for index, line in enumerate(printed) if line.startswith("fail: "))
    # The last digits of a float32 differ between machines.
    reported = printed[start : start + len(shown)]
    assert [re.sub(r"[\d.]+", "", line).split() for line in reported] == [
        re.sub(r"[\d.]+", "", line).split() for line in shown
    ]


def test_commands_were_found():
    assert {command.split()[0] for command in COMMANDS} == {
        "attnspec",
        "pytest",
        "cc",
        "./attention",
        "go",
        "./attention-in-go",
    }


def test_every_file_that_it_names_is_there():
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (GUIDE.parent / target).exists(), target
