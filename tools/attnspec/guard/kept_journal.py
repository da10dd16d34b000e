"""Results that are kept in a file as they come, so that a run which was killed can go on: ``--resume FILE``.

The file is a journal: shared memory that the system writes out by itself, whatever becomes of the process.
"""

from __future__ import annotations

import io
import mmap
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec.guard.journal import SIZE, Journal, Reported
from attnspec.runner import Key, Result, Run

if TYPE_CHECKING:
    from attnspec.targets import Declaration

_READABLE = {
    ("attnspec.contract.implementation", "Declaration"),
    ("ml_dtypes", "bfloat16"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.numeric", "_frombuffer"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
}
"""Classes of a journal beside plain values: a file that somebody else wrote must not run anything."""

_MOVED = {"attnspec.adapters.implementation": "attnspec.contract.implementation"}
"""Module to where its contents are today, for journals of 0.1.0."""


class KeptJournal(Journal):
    """A journal in a file, which a later run reads and goes on with."""

    def __init__(self, memory: mmap.mmap) -> None:
        super().__init__(memory)
        self._reported: Reported | None = None

    def keep_subject(self, about: Mapping[str, str]) -> None:
        """Write down what the results are about, by name."""
        self._append(("about", dict(about)))

    def continue_from(self, reported: Reported) -> None:
        """Write on behind the records of an earlier run."""
        self._reported = reported
        self._find_end()
        self._forget_question()
        self._seen = {key: entry.verdict for key, entry in reported.results.items()}
        self._append(("goes on",))

    def keep_declaration(self, declaration: Declaration) -> None:
        """Write down the implementation's declaration; UsageError if it was another when the file was written."""
        if self._reported is not None and self._reported.declaration not in (None, declaration):
            raise UsageError(
                f"{declaration.name} declares something else than when the file of --resume was written. "
                "Name another file."
            )
        super().keep_declaration(declaration)

    def known_result(self, run: Run) -> Result | None:
        """Return the result of a run that an earlier one finished, in both passes."""
        key = (run.case.id, run.dtype)
        if self._reported is None or key not in self._reported.settled:
            return None
        entry = self._reported.results[key]
        return Result(run, entry.verdict, entry.seconds, self._reported.got(key), entry.same_bits)

    def keep_result(self, result: Result) -> None:
        """Write down a result, the outputs with it, and, in the second pass, that it is settled."""
        key = (result.case.id, result.dtype)
        if self._seen.get(key) is not result.verdict:
            super().keep_result(result)
            self._keep_passes(result.case.operation, len(self._seen))
        elif self._reported is None or key not in self._reported.settled:
            self._append(("again", *key, result.same_bits))

    def add_results(self, reported: Reported, keys: set[Key]) -> None:
        """Write down some results in the name of a process that has ended."""
        self._find_end()
        for key in keys:
            self._append_entry(key, reported.results[key])

    def _loads(self, content: bytes) -> Any:
        return _Careful(io.BytesIO(content)).load()


def open_kept(path: Path, about: Mapping[str, str]) -> KeptJournal:
    """Return the journal in a file, which is made where there is none; `about` is suite, target and options, by name.

    Raises UsageError if it cannot be opened, is no such file, or is about something else.
    """
    try:
        with path.open("r+b" if path.exists() else "x+b") as file:
            is_new = not file.seek(0, io.SEEK_END)
            file.seek(0)
            # Before anything is written to a file that is something else.
            if not is_new and not Journal.is_signed(file.read(Journal.SIGNED)):
                raise UsageError(
                    f"--resume {path}: the file holds something else. Name a new one, or one that --resume wrote."
                )
            file.truncate(SIZE)
            journal = KeptJournal(mmap.mmap(file.fileno(), SIZE))
    except OSError as error:
        raise UsageError(f"--resume {path}: the file cannot be opened ({error.strerror}).") from None
    if is_new:
        journal.signs()
        journal.keep_subject(about)
        return journal
    try:
        reported = journal.read()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, AttributeError, ImportError, KeyError, TypeError):
        raise UsageError(f"--resume {path}: the file is damaged. Remove it, and run everything anew.") from None
    for name, now in about.items():
        before = reported.about.get(name, "")
        # Words that were given in one text have no space between them in files of before.
        if before.replace(", ", ",") != now.replace(", ", ","):
            raise UsageError(
                f"--resume {path}: it holds results of another run: {name} was {before or 'not said'} and is "
                f"{now or 'not said'}. "
                "Name another file, or repeat the command that wrote it."
            )
    journal.continue_from(reported)
    return journal


class _Careful(pickle.Unpickler):
    """Unpickler of a journal's own classes, and no others."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        module_name = _MOVED.get(module_name, module_name)
        if (module_name, global_name) not in _READABLE:
            raise pickle.UnpicklingError(f"a journal does not hold {module_name}.{global_name}")
        return super().find_class(module_name, global_name)
