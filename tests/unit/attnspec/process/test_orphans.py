"""Whatever ends the harness, it leaves neither the program nor what the program started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from softmax_program import command_of
from test_faults import MARK, left_with

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process groups are POSIX")

HANGS = """
def at_third(request):
    [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    subprocess.Popen(SLEEPS)
    open("hangs", "w").close()
    time.sleep(600)
"""
TARGET = """
import os, signal, subprocess, sys, time
import numpy as np

def softmax(x, axis=-1):
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    open("hangs", "w").close()
    time.sleep(600)
"""
ENDS = {
    "SIGTERM": ([signal.SIGTERM], 143),
    "SIGHUP": ([signal.SIGHUP], 129),
    "SIGINT": ([signal.SIGINT], 130),
    "SIGINT three times": ([signal.SIGINT] * 3, None),
    "SIGTERM and SIGINT": ([signal.SIGTERM, signal.SIGINT], None),
    "SIGKILL": ([signal.SIGKILL], -signal.SIGKILL),
}


def end_while_it_hangs(folder, words, signals):
    """Start the command line, send it the signals once the program hangs; return its exit status."""
    options = ("--select", "documents/001/softmax_of_*", "--timeout", "600", *words)
    harness = subprocess.Popen(
        [sys.executable, "-m", "attnspec", "validate", *options],
        cwd=folder,
        env=os.environ | {MARK: str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert appears(folder / "hangs")
        for number in signals:
            harness.send_signal(number)
        return harness.wait(timeout=60)
    finally:
        harness.kill()
        harness.wait()


def appears(path: Path) -> bool:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.exists()


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_with_the_harness(name, tmp_path):
    signals, status = ENDS[name]
    ended = end_while_it_hangs(tmp_path, ("--command", command_of(tmp_path, HANGS)), signals)
    assert status is None or ended == status
    assert not left_with(str(tmp_path))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_an_isolated_target_ends_with_the_harness(name, tmp_path):
    (tmp_path / "mine.py").write_text(TARGET, "utf-8")
    signals, status = ENDS[name]
    assert end_while_it_hangs(tmp_path, ("--isolate", "./mine.py"), signals) == status
    assert not left_with(str(tmp_path))
