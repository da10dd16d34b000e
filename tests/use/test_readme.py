"""The README: short, in a reader's order, and what it shows is what is printed. `tests/use/walk` runs its commands."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line[2:] for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]
IMPLEMENTATIONS = ROOT / "tests" / "examples"
QUICK = ("attnspec list ", "attnspec show ", "attnspec explain ", " validate ./mine.py ")
"""Words of the commands that are tried in every run of the tests; that all of them work is a proof."""


@pytest.fixture(scope="module")
def run(tmp_path_factory, warm_commands):
    """Run a command of the README, once for all tests, in a folder with the reader's file."""
    mine = next(block for kind, block in BLOCKS if kind == "python" and block.startswith("# mine.py"))

    @cache
    def run_command(command):
        folder = tmp_path_factory.mktemp("readme")
        (folder / "mine.py").write_text(mine, encoding="utf-8")
        program, *words = shlex.split(command)
        assert program == "attnspec"
        return warm_commands.run(*words, cwd=folder)

    return run_command


@pytest.mark.parametrize("command", [command for command in COMMANDS if any(words in command for words in QUICK)])
def test_commands_work(command, run):
    command, _, status = command.partition("  # ends with ")
    done = run(command)
    assert done.returncode == int(status or 0), f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_the_report_offers_the_very_options_that_the_reader_sees(run):
    plain, declared = (command for command in COMMANDS if " validate ./mine.py " in command)
    offered = [line.strip() for line in run(plain.partition("  #")[0]).stdout.splitlines() if line.startswith("  --")]
    assert 0 < len(offered) <= 2
    assert declared.endswith(f" {' '.join(offered)}")


def test_the_failure_is_what_the_student_sees(run):
    shown = next(block for kind, block in BLOCKS if kind == "text")
    reported = run(f"attnspec validate {IMPLEMENTATIONS / 'student_softmax_axis_0.py'}")
    assert reported.returncode == 1
    printed = [line.rstrip() for line in reported.stdout.splitlines()]
    lines = shown.splitlines()
    start = printed.index(lines[0])
    assert printed[start : start + len(lines)] == lines


def test_the_first_two_commands_are_the_shortest_way():
    assert COMMANDS[:2] == ["pip install ../attnspec", "attnspec validate ./mine.py  # ends with 1"]
    assert {command.split()[0] for command in COMMANDS} <= {
        "make",
        "pip",
        "attnspec",
        "pytest",
        "cp",
        ".venv/bin/attnspec",
    }


def test_nothing_is_installed_that_is_not_published():
    assert not [command for command in COMMANDS if re.search(r"install (--\S+ )*[\"']?attnspec", command)]


def test_it_is_short_and_in_order():
    assert README.count("\n") < 200
    headings = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert headings == [
        *("Quickstart", "Reading a failure", "One failing case"),
        *("In your CI", "Other languages", "Contributing"),
    ]


def test_every_guide_is_one_link_away():
    for guide in (ROOT / "spec" / "guides").glob("*.md"):
        assert f"(spec/guides/{guide.name})" in README
