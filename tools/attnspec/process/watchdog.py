"""Watchdog: ends a program and all that it started when the harness is no more, however that came."""

from __future__ import annotations

import os
import subprocess

_KEEP = 'read -r _; kill -s KILL -- "-$1"'
"""The watchdog's stdin is open for as long as the harness lives: not even a SIGKILL can leave it open."""


class Watchdog:
    """A shell that ends a process group at the end of this process, where there are process groups."""

    def __init__(self, group: int) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if os.name == "posix":
            # In a session of its own, so that Ctrl-C and a closed terminal leave it to do its work.
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _KEEP, "sh", str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """End the shell without its doing anything. May be called more than once."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
