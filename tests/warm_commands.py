"""The command line in processes that are forked from a warm one.

Each is a process of its own, with exit status, signals, session and pipes, but without the start of Python and its
imports, which take longer than what most tests ask for.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

WARM = ("attnspec", "attnspec_draws", "attnspec_mistakes", "attnspec_probes", "attnspec_reference")
COLD = (".__main__", ".pytest_plugin", ".tensors.of_")
"""Parts of the names of modules that no command imports, or only for a library."""


class Started:
    """A command that was started, with what `subprocess.Popen` has."""

    def __init__(self, pid, ended, stdin, out, err):
        self.pid, self.returncode = pid, None
        self._ended, self._stdin, self._pipes = ended, stdin, {"out": out, "err": err}

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, typed="", timeout=120):
        """Type something, wait for the end, and give what was printed to stdout and stderr."""
        with os.fdopen(self._stdin, "w", encoding="utf-8") as stdin:
            stdin.write(typed)
        read = {name: bytearray() for name in self._pipes}
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            for name, pipe in self._pipes.items():
                selector.register(pipe, selectors.EVENT_READ, name)
            while selector.get_map():
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired("attnspec", timeout)
                for key, _ in selector.select(1):
                    content = os.read(key.fd, 65536)
                    read[key.data] += content
                    if not content:
                        selector.unregister(key.fd)
                        os.close(key.fd)
        self.returncode = self._ended(self.pid)
        return tuple(content.decode("utf-8", "replace") for content in read.values())


class WarmCommands:
    """The warm process, as its client sees it."""

    def __init__(self):
        self._door, theirs = socket.socketpair()
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            # Python makes its streams for pipes, then, and each command has pipes.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        theirs.close()
        self._unread = b""
        self._codes = {}

    def close(self):
        self._door.close()
        self._server.communicate()

    def start(self, *words, cwd=None, env=None, guard=None):
        """Start ``attnspec`` with these words, in a session of its own; `guard` is that of `command_line.main`."""
        pipes = [os.pipe() for _ in range(3)]
        theirs, ours = [pipes[0][0], pipes[1][1], pipes[2][1]], [pipes[0][1], pipes[1][0], pipes[2][0]]
        request = {
            "words": [*map(str, words)],
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "guard": guard,
        }
        socket.send_fds(self._door, [json.dumps(request).encode() + b"\n"], theirs)
        for pipe in theirs:
            os.close(pipe)
        while "started" not in (answer := self._answer()):
            self._codes[answer["ended"]] = answer["code"]
        return Started(answer["started"], self._ended, *ours)

    def run(self, *words, typed="", timeout=120, **options):
        """Run ``attnspec`` to its end; give what `subprocess.run` gives."""
        started = self.start(*words, **options)
        out, err = started.communicate(typed, timeout)
        return subprocess.CompletedProcess(words, started.returncode, out, err)

    def _ended(self, pid):
        """Wait for the end of a process; give its exit status, or the negated signal."""
        while pid not in self._codes:
            answer = self._answer()
            self._codes[answer["ended"]] = answer["code"]
        return self._codes.pop(pid)

    def _answer(self):
        self._door.settimeout(60)
        while b"\n" not in self._unread:
            content = self._door.recv(65536)
            assert content, f"the warm process has ended: {self._server.stdout.read().decode()}"
            self._unread += content
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)


def serve(door):
    """Fork a process for each request, and report the end of each; in the forked process, return its request."""
    for package in WARM:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not any(part in module.name for part in COLD):
                importlib.import_module(module.name)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    while True:
        ready, _, _ = select.select([door, woken], [], [])
        if woken in ready:
            os.read(woken, 1024)
            with contextlib.suppress(ChildProcessError):
                while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                    _send(door, ended=ended[0], code=os.waitstatus_to_exitcode(ended[1]))
        if door in ready:
            request, pipes, _, _ = socket.recv_fds(door, 65536, 3)
            if not request:
                sys.exit()
            while not request.endswith(b"\n"):
                request += door.recv(65536)
            process = os.fork()
            if not process:
                _become_a_command(pipes, (woken, wakes, door.detach()))
                return json.loads(request)
            for pipe in pipes:
                os.close(pipe)
            _send(door, started=process)


def _become_a_command(pipes, of_the_server):
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in of_the_server:
        os.close(number)
    os.setsid()
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)


def _send(door, **answer):
    door.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv[1:] = asked["words"]
    from attnspec.command_line import main

    sys.exit(main(guard=asked["guard"]))
