"""``python -m attnspec.command_line.guarded_command JOURNAL WORD ...``: a command line, started to be guarded."""

import os
import sys
from pathlib import Path

from attnspec.command_line import main
from attnspec.guard.ending import die_with, leave
from attnspec.guard.guarded_process import shared_journal


def run(journal_path: str, words: list[str]) -> None:
    """Run a command, report its exit status, and end the process."""
    process = os.getpid()
    die_with(os.getppid())
    journal = shared_journal(Path(journal_path))
    status = main(words, guard=journal)
    if os.getpid() == process:
        journal.keep_exit_status(status)
    leave(process)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
