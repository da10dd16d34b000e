"""Whatever ends a campaign, none of its workers outlives it, nor what these started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

MARK = "ATTNSPEC_TEST_OF_ORPHANS"
SLEEPS = """
import time

def softmax(x, axis=-1):
    open("hangs", "w").close()
    time.sleep(600)
"""
KEEPS_THE_INTERPRETER = """
import ctypes

def softmax(x, axis=-1):
    open("hangs", "w").close()
    ctypes.PyDLL(None).sleep(600)
"""


def alive(mark):
    """Return the processes that have the mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_marked = f"{MARK}={mark}".encode() in (process / "environ").read_bytes()
            is_dead = (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if is_marked and not is_dead:
            found.append(process)
    return found


def within(seconds, holds):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("target", [SLEEPS, KEEPS_THE_INTERPRETER])
@pytest.mark.parametrize("more", [[], ["--timeout", "500"]])
def test_no_process_outlives_a_campaign(tmp_path, target, number, more):
    (tmp_path / "mine.py").write_text(target, "utf-8")
    campaign = subprocess.Popen(
        [sys.executable, "-m", "attnspec", "campaign", "./mine.py", "--cases", "100", "--executor", "local:2", *more],
        cwd=tmp_path,
        env=os.environ | {MARK: str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert within(60, (tmp_path / "hangs").exists)
        assert len(alive(tmp_path)) > 1
        campaign.send_signal(number)
        assert within(10, lambda: not alive(tmp_path))
        assert b"Traceback" not in campaign.communicate()[1]
    finally:
        campaign.kill()
        campaign.wait()
