"""Ctrl-C and SIGTERM end the guarded process too, and leave what there was; a terminal is the target's as before."""

import os
import select
import signal
import sys
import time

import pytest

HANGS = """

def accident(x):
    open("hangs", "w").close()
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            if not PATIENT:
                raise
"""


def wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path.exists()


def assert_partial(ran):
    assert list(ran.statuses.values()) == ["pass", "pass"]
    assert ran.report["not_run"] == 3
    assert ran.report["summary"]["conformance"] == "does not conform"
    assert ran.out == ""
    assert ran.left == []


@pytest.mark.parametrize("words", [("validate",), ("gate",), ("validate", "--isolate")], ids=" ".join)
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "attnspec: interrupted"), (signal.SIGTERM, 143, "attnspec: ended by SIGTERM")],
)
def test_a_signal_ends_both_processes_and_leaves_what_there_was(words, number, status, said, command):
    command.adapter(HANGS.replace("PATIENT", "False"))
    process = command.start(*words)
    wait_for(command.folder / "hangs")
    process.send_signal(number)
    ran = command.end(process)
    assert (ran.status, ran.err) == (status, said)
    assert_partial(ran)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_so_it_does_without_a_fork(number, command):
    command.adapter(HANGS.replace("PATIENT", "False"))
    process = command.start("validate", guard="subprocess")
    wait_for(command.folder / "hangs")
    process.send_signal(number)
    ran = command.end(process)
    assert ran.status == 128 + number
    assert_partial(ran)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal of Linux")
@pytest.mark.parametrize("guard", ["fork", "subprocess"])
def test_the_guarded_process_dies_with_its_parent(guard, command):
    command.adapter(HANGS.replace("PATIENT", "True"))
    process = command.start("validate", guard=guard)
    wait_for(command.folder / "hangs")
    process.kill()
    assert command.end(process).left == []


def on_a_terminal(command, *words, guard="fork"):
    """Start the command on a terminal of its own; give the process and the other end of the terminal."""
    ours, theirs = os.openpty()
    process = command.start(
        *words, guard=guard, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=lambda: _take_terminal(theirs)
    )
    os.close(theirs)
    return process, ours


def _take_terminal(terminal):
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def read_until(terminal, wanted):
    """Return what comes out of a terminal until it holds `wanted`, or until it is closed."""
    seen = ""
    while wanted not in seen and select.select([terminal], [], [], 60)[0]:
        try:
            seen += os.read(terminal, 4096).decode("utf-8", "replace")
        except OSError:
            break
    return seen


def test_ctrl_c_on_a_terminal_is_reported_once(command):
    command.adapter(HANGS.replace("PATIENT", "False"))
    process, terminal = on_a_terminal(command, "validate")
    wait_for(command.folder / "hangs")
    os.write(terminal, b"\x03")
    seen = read_until(terminal, "nothing, so all")
    ran = command.end(process)
    os.close(terminal)
    assert ran.status == 130
    assert seen.count("attnspec: interrupted") == 1
    assert "Traceback" not in seen
    assert_partial(ran)


def test_a_second_ctrl_c_ends_a_target_that_ignores_the_first(command):
    command.adapter(HANGS.replace("PATIENT", "True"))
    process, terminal = on_a_terminal(command, "validate")
    wait_for(command.folder / "hangs")
    for _ in range(2):
        os.write(terminal, b"\x03")
        time.sleep(0.3)
    seen = read_until(terminal, "nothing, so all")
    ran = command.end(process)
    os.close(terminal)
    assert ran.status == 130
    assert seen.count("attnspec: interrupted") == 1
    assert_partial(ran)


@pytest.mark.parametrize("guard", ["fork", "subprocess"])
def test_a_debugger_has_the_terminal(guard, command):
    command.adapter("\ndef accident(x):\n    breakpoint()\n")
    process, terminal = on_a_terminal(command, "validate", "--quiet", guard=guard)
    seen = read_until(terminal, "(Pdb) ")
    os.write(terminal, b"p calls * 111\n")
    seen += read_until(terminal, "333")
    os.write(terminal, b"c\n")
    seen += read_until(terminal, "mine conforms")
    ran = command.end(process)
    os.close(terminal)
    assert ran.status == 0
    assert "333" in seen
    assert "mine conforms" in seen


def test_progress_is_shown_on_a_terminal(command):
    command.adapter("\ndef accident(x):\n    time.sleep(1)\n")
    process, terminal = on_a_terminal(command, "validate")
    seen = read_until(terminal, "2/5")
    read_until(terminal, "mine conforms")
    ran = command.end(process)
    os.close(terminal)
    assert "validating" in seen
    assert "2/5" in seen, "two of the five that are planned"
    assert ran.status == 0
