"""The guide to campaigns: every command in it works as it stands, in the order of the page."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "spec" / "guides" / "campaigns.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line[2:] for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]
ON_A_CLUSTER = [command for command in COMMANDS if command.startswith("dask ") or "dask:" in command]
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
RIGHT = ("attnspec show ", "attnspec export ")
"""What ends with 0: all else meets what is wrong in the reader's function."""


FEWER = {"--cases 400": "--cases 40", "--cases 200": "--cases 40", "--cases 100": "--cases 20", " 0.1 ": " 0.01 "}
"""Numbers of draws, and fewer that show as much; the first command, whose tally is printed, is run as it stands."""


def write_files(folder):
    """Write the reader's files."""
    for kind, block in BLOCKS:
        name = re.match(r"# (\w+\.py)$", block.splitlines()[0])
        if kind == "python" and name:
            (folder / name[1]).write_text(block, encoding="utf-8")


@pytest.fixture
def started(tmp_path):
    """Start a command in a folder with the reader's files, where ``attnspec`` is that of this environment."""
    write_files(tmp_path)

    def start(command):
        return subprocess.Popen(
            command,
            shell=True,
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return start


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the reader's files."""
    folder = tmp_path_factory.mktemp("guide")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def printed(folder, warm_commands):
    """What each command prints to stdout, run in the order of the page."""
    outputs = {}
    for command in COMMANDS:
        if command in ON_A_CLUSTER:
            continue
        words = command
        for number, smaller in FEWER.items() if command != COMMANDS[0] else ():
            words = words.replace(number, smaller)
        program, *arguments = shlex.split(words)
        if program == "attnspec":
            done = warm_commands.run(*arguments, cwd=folder, env=ENVIRONMENT)
        else:
            done = subprocess.run(
                words, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
            )
        assert done.returncode == (0 if command.startswith(RIGHT) else 1), f"{words}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        outputs[command] = done.stdout
    return outputs


def test_every_command_works_in_the_order_of_the_page_and_prints_what_it_shows(printed, folder):
    # One test, as each process would run all of them anew for another.
    assert all(printed.values())
    assert (folder / "found.txt").read_text().startswith("draw:scaled_dot_product_attention/")
    assert "AuthoredCase(" in (folder / "found.py").read_text()
    assert "pairs of levels meet in golden cases" in (folder / "coverage.md").read_text()
    (shown,) = (block.strip() for kind, block in BLOCKS if kind == "text")
    reported = printed[COMMANDS[0]]
    tally, words = reported.splitlines()[0], re.findall(r"^\| ([A-Z][^|]+) \|", TEXT, re.MULTILINE)
    assert re.sub(r"in [\d.]+ s", "", tally) == re.sub(r"in [\d.]+ s", "", shown)
    assert len(words) == 5
    assert all(word in reported for word in words)


@pytest.mark.proof
@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
def test_a_cluster_that_is_set_up_by_hand_works(started):
    *services, command = ON_A_CLUSTER
    running = []
    try:
        for service in services:
            running.append(started(service))
            time.sleep(4)
        campaign = started(command)
        out, err = campaign.communicate(timeout=120)
        assert campaign.returncode == 1, err
        assert out.startswith("400 draws in")
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_commands_were_found():
    assert {command.split()[0] for command in COMMANDS} == {"attnspec", "pytest", "dask"}
    assert len(ON_A_CLUSTER) == 3


def test_every_file_that_it_names_is_there():
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (GUIDE.parent / target).exists(), target
