"""Results that are kept in a file as they come, so that a run which was killed can go on: ``--resume FILE``.

The file is a journal: shared memory that the system writes out by itself, whatever becomes of the process. Its results
are of the code that gave them: where a file has changed from which that code came, everything is run anew.
"""

from __future__ import annotations

import io
import mmap
import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec.guard.journal import SIZE, Ending, Journal, Reported
from attnspec.runner import Key, Result, Run
from attnspec.targets.sources import by_name, digest, loaded_files

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

_SINCE, _FILE = "since", "file "
"""When the first result was kept, and the digest of each file of the code, among what a journal is about."""

_NAMED = 3


class KeptJournal(Journal):
    """A journal in a file, which a later run reads and goes on with."""

    def __init__(self, memory: mmap.mmap) -> None:
        super().__init__(memory)
        self._reported: Reported | None = None
        self._files: set[Path] = set()
        self._looked: tuple[int, int] = (0, 0)
        self._called_again: set[Key] = set()

    def begin(self, about: Mapping[str, str], sources: Mapping[str, str]) -> None:
        """Write down, over all that there was, what the results are about, by name, and digests of the code's files."""
        self._memory[: self.SIGNED] = bytes(self.SIGNED)
        self.signs()
        self._append(("about", {**about, _SINCE: time.strftime("%Y-%m-%d %H:%M:%S")}))
        self._keep_files(sources)

    def _keep_sources(self, operations: int) -> None:
        """Write down the files that were loaded since; a first call may load a library of C, without a module."""
        looked = (len(sys.modules), operations)
        if looked == self._looked:
            return
        self._looked = looked
        files = loaded_files() - self._files
        self._files |= files
        self._keep_files(by_name(files))

    def _keep_files(self, digests: Mapping[str, str]) -> None:
        self._append(("about", {f"{_FILE}{name}": of_file for name, of_file in digests.items()}))

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
        self._keep_sources(0)

    def known_result(self, run: Run) -> Result | None:
        """Return the result of a run that an earlier one finished, in both passes."""
        key = (run.case.id, run.dtype)
        if self._reported is None or key not in self._reported.settled:
            return None
        entry = self._reported.results[key]
        return Result(run, entry.verdict, entry.seconds, self._reported.got(key), entry.same_bits)

    def keep_result(self, result: Result) -> None:
        """Write down a result, the outputs with it, and, in the second pass, that it is settled."""
        key = result.key
        if self._seen.get(key) is not result.verdict:
            super().keep_result(result)
            self._keep_passes(result.case.operation, len(self._seen))
            if key in self._called_again:
                self._append(("again", *key, result.same_bits))
        elif self._reported is None or key not in self._reported.settled:
            self._append(("again", *key, result.same_bits))
            self._called_again.add(key)
        self._keep_sources(len(self._passed))

    def keep_ending(self, ending: Ending, problem: str = "") -> None:
        """Write down how the run ended, and which files were loaded until then."""
        self._keep_sources(-1)
        super().keep_ending(ending, problem)

    def add_results(self, reported: Reported, keys: set[Key]) -> None:
        """Write down some results in the name of a process that has ended."""
        self._find_end()
        for key in keys:
            self._append_entry(key, reported.results[key])

    def _loads(self, content: bytes) -> Any:
        return _Careful(io.BytesIO(content)).load()


def open_kept(path: Path, about: Mapping[str, str], sources: Mapping[str, str]) -> tuple[KeptJournal, str]:
    """Return the journal in a file, made where there is none, and a sentence on what it had, empty for nothing.

    `about` is suite, target and options, by name; `sources` are digests of the target's own files. Results of other
    code are let go. Raises UsageError if it cannot be opened, is no such file, or is about something else.
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
    goes_on, said = (False, "") if is_new else _taken_over(path, journal, about, sources)
    if not goes_on:
        journal.begin(about, sources)
    return journal, said


def _taken_over(
    path: Path, journal: KeptJournal, about: Mapping[str, str], sources: Mapping[str, str]
) -> tuple[bool, str]:
    """Let a journal go on with the results of an earlier run of the same code; return whether it does, and a sentence.

    Raises UsageError if they are about something else.
    """
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
    kept = "1 result" if len(reported.results) == 1 else f"{len(reported.results)} results"
    since = reported.about.get(_SINCE, "")
    files = {name.removeprefix(_FILE): text for name, text in reported.about.items() if name.startswith(_FILE)}
    if reported.results and not since:
        return False, f"--resume {path}: it does not say which code gave its {kept}. Everything is run anew."
    changed = _changed(files, sources)
    if changed:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        named = f"{', '.join(changed[:_NAMED])}{more} {'has' if len(changed) == 1 else 'have'} changed since {since}"
        return False, f"--resume {path}: {named}. Its {kept} of the code before are let go, and everything is run anew."
    journal.continue_from(reported)
    if not reported.results:
        return True, ""
    taken = f"{len(reported.settled)} of its {kept}, of the same code, are taken over from the run of {since}"
    return True, f"--resume {path}: {taken}."


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> Sequence[str]:
    """Return the files that are others than before, or are no longer there."""
    return sorted(
        {name for name, of_file in before.items() if (now.get(name) or digest(Path(name))) != of_file}
        | (now.keys() - before.keys())
    )


class _Careful(pickle.Unpickler):
    """Unpickler of a journal's own classes, and no others."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        module_name = _MOVED.get(module_name, module_name)
        if (module_name, global_name) not in _READABLE:
            raise pickle.UnpicklingError(f"a journal does not hold {module_name}.{global_name}")
        return super().find_class(module_name, global_name)
