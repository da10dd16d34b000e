"""Adapters that have accidents, and the command line in a session of its own, so that whatever it leaves is found."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOFTMAX = """
import atexit, ctypes, faulthandler, gc, os, signal, sys, threading, time, warnings
import numpy as np

calls = 0


def accident(x):
    pass


def softmax(x, axis=-1):
    global calls
    calls += 1
    if calls == CALL:
        answer = accident(x)
        if answer is not None:
            return answer
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""
CASES = ("columns", "queries", "rows", "scores", "whole_array")
"""The cases that are run, in their order; the second pass runs them backwards."""

_PROGRAM = "import sys; from attnspec.command_line import main; sys.exit(main(sys.argv[2:], guard=sys.argv[1]))"


class Ran:
    """A command that has ended: what it said, what it wrote, what it left."""

    def __init__(self, folder, status, out, err, left):
        self.status, self.left = status, left
        self.out, self.err = " ".join(out.split()), " ".join(err.split())
        path = folder / "report.json"
        self.report = json.loads(path.read_text("utf-8")) if path.exists() else None

    @property
    def statuses(self):
        """The status of each case, by its short name."""
        return {
            result["case"].removeprefix("documents/001/softmax_of_"): result["status"]
            for result in (self.report or {"results": []})["results"]
        }


class Command:
    """The command line on an adapter of this folder."""

    def __init__(self, folder: Path, warm_commands) -> None:
        self.folder, self._warm_commands = folder, warm_commands

    def adapter(self, source: str, *, call: int = 3) -> None:
        (self.folder / "mine.py").write_text(SOFTMAX.replace("CALL", str(call)) + source, "utf-8")

    def start(self, *words: str, guard: str = "fork", target=("./mine.py",), **pipes):
        """Start it: forked from a warm process or, with pipes of its own, as a new process of Python."""
        words = (*words, *target, "--select", "documents/001/softmax_*", "--report", "report.json")
        if not pipes:
            return self._warm_commands.start(*words, guard=guard, cwd=self.folder)
        command = [sys.executable, "-P", "-c", _PROGRAM, guard, *words]
        return subprocess.Popen(command, cwd=self.folder, start_new_session=True, text=True, **pipes)

    def end(self, process) -> Ran:
        out, err = process.communicate(timeout=120)
        return Ran(self.folder, process.returncode, out or "", err or "", left_of(process.pid))

    def __call__(self, *words: str, **options) -> Ran:
        return self.end(self.start(*words, **options))


def left_of(session: int) -> list[int]:
    """Return the processes of a session that are still there a moment after its first one has ended."""
    if not Path("/proc/self/stat").exists():
        return []
    deadline = time.monotonic() + 30
    while (left := _processes_of(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _processes_of(session: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        state, of_session = fields[0], int(fields[3])
        if of_session == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def command(tmp_path, warm_commands) -> Command:
    return Command(tmp_path, warm_commands)


def pytest_collection_modifyitems(items):
    needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
    for item in items:
        if "tests/unit/attnspec/guard/" in item.path.as_posix():
            item.add_marker(needs_fork)
