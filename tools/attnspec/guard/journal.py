"""Journal: the results of a run so far, in memory that outlives the process that writes it.

Parent and child share the memory. The child appends; the parent reads when the child has ended, however it ended. No
system call lies between a result and the journal, and no file number that an implementation might close.
"""

from __future__ import annotations

import mmap
import pickle
import struct
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.grading import Run, Verdict
    from attnspec.grading.pull import Pull
    from attnspec.runner import Key, Occasion, Result
    from attnspec.runner.result import Law, Measured
    from attnspec.targets import Declaration

SIZE = 256 * 1024 * 1024
"""Bytes; reserved, and taken only as they are written. Four dtypes of the whole suite fill a tenth."""

_HEAD = struct.Struct("<QQ")
"""Bytes that are used, and how many (case, dtype) have a result."""
_CONCLUSION = struct.Struct("<Q")
"""The exit status, raised by one; 0 as long as there is none."""
_QUESTION = struct.Struct("<Q")
"""Which of two slots holds the request that is being answered, and its length: the other slot is written meanwhile."""
_SLOT = 1024
_SLOTS = _HEAD.size + _CONCLUSION.size + _QUESTION.size
_SIGNATURE = b"attnspec journal 1\n"
"""Between the slots and the records of a journal that is kept in a file."""
_START = _SLOTS + 2 * _SLOT + len(_SIGNATURE)
_RECORD = struct.Struct("<Q?")
"""Bytes of a record, and whether it holds outputs, which are read only where they are needed."""
_FOR_OUTPUTS = SIZE // 2
"""Beyond this, no outputs are kept, so that there is always room for verdicts."""
_LONGEST_MESSAGE = 64 * 1024
_PASSES_AT_ONCE = 24
"""Passes of an operation whose outputs are kept as something goes wrong, should the process end by accident."""

_WORST = 5
"""The position of the worst element among the fields of a verdict."""

Ending = Literal["finished", "refused", "interrupted", "given up"]


class Requested(NamedTuple):
    """The last request to the implementation: on behalf of which case and dtype, and why."""

    case: str
    dtype: str
    occasion: Occasion


class JournalEntry(NamedTuple):
    """One result, as it stands in the journal."""

    verdict: Verdict
    seconds: float
    same_bits: bool | None


class Reported(NamedTuple):
    """The contents of a journal; `problem` is the sentence of a refused run, `ending` None for an accident.

    `got` gives the returned outputs of a (case, dtype), or None; of passes, all only where something was wrong.
    `settled`, results that no second pass can change, and `about` are known of a journal in a file alone.
    """

    declaration: Declaration | None
    requested: Requested | None
    results: Mapping[Key, JournalEntry]
    ending: Ending | None
    problem: str
    got: Callable[[Key], Mapping[str, NDArray[Any]] | None]
    settled: Set[Key] = frozenset()
    about: Mapping[str, str] = MappingProxyType({})
    measured: Measured | None = None


class Journal:
    """Memory that two processes share, as a follower of a run; all zeros before the first use."""

    SIGNED = _START
    """So many bytes at its beginning distinguish a journal in a file from anything else."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._used = _START
        self._count = 0
        self._seen: dict[Key, Verdict] = {}
        self._slot = 1
        self._same_bits: dict[Key, bool | None] = {}
        self._passed: dict[str, dict[Key, Result]] = {}
        self._passes_kept: Counter[str] = Counter()
        self._wrong: set[str] = set()

    @classmethod
    def anonymous(cls) -> Journal:
        """Return a journal that a forked child shares."""
        # Reserved memory would count against strict limits before it is used.
        flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        return cls(mmap.mmap(-1, SIZE, flags=flags))

    @staticmethod
    def is_signed(beginning: bytes) -> bool:
        """Return whether a file is a journal, by its first bytes."""
        return beginning.endswith(_SIGNATURE) and len(beginning) == _START

    def signs(self) -> None:
        """Mark the memory as a journal, for one that is kept in a file."""
        self._memory[_START - len(_SIGNATURE) : _START] = _SIGNATURE

    @property
    def count(self) -> int:
        """How many (case, dtype) have a result."""
        return _HEAD.unpack_from(self._memory)[1]

    @property
    def declaration(self) -> Declaration | None:
        """The implementation's declaration, once it is loaded: among the first records, so soon found."""
        return next((record[1] for record in self._records() if record[0] == "declares"), None)

    @property
    def exit_status(self) -> int | None:
        """The exit status of a process that went on to print its verdict by itself."""
        (raised,) = _CONCLUSION.unpack_from(self._memory, _HEAD.size)
        return raised - 1 if raised else None

    def keep_exit_status(self, status: int) -> None:
        """Write down the exit status, the last word of all."""
        _CONCLUSION.pack_into(self._memory, _HEAD.size, status + 1)

    def keep_declaration(self, declaration: Declaration) -> None:
        """Write down the implementation's declaration, once it is loaded."""
        self._append(("declares", declaration))

    def keep_request(self, run: Run, occasion: Occasion) -> None:
        """Write down the request to the implementation."""
        text = f"{run.case.id} {run.dtype} {occasion}".encode()
        self._slot = 1 - self._slot
        start = _SLOTS + self._slot * _SLOT
        self._memory[start : start + len(text)] = text
        # Last: a process that ends here still reports the request before.
        _QUESTION.pack_into(self._memory, _SLOTS - _QUESTION.size, 2 * len(text) + self._slot)

    def known_result(self, run: Run) -> Result | None:
        """Return the result of a run that an earlier process settled: none, but in a journal that is kept in a file."""
        del run

    def keep_result(self, result: Result) -> None:
        """Write down a result."""
        key = result.key
        if self._seen.get(key) is result.verdict:  # a second pass that changed nothing
            self._same_bits[key] = result.same_bits
            return
        if key not in self._seen:
            self._count += 1
        self._seen[key] = result.verdict
        verdict = result.verdict
        if len(verdict.message) > _LONGEST_MESSAGE:
            verdict = verdict._replace(message=verdict.message[:_LONGEST_MESSAGE] + " …")
        self._append_entry(key, JournalEntry(verdict, result.seconds, result.same_bits))
        operation = result.case.operation
        passed = self._passed.setdefault(operation, {})
        passed.pop(key, None)
        if result.is_wrong:
            self._wrong.add(operation)
            self._keep_outputs(result)
        elif result.got is not None:
            passed[key] = result
        if operation in self._wrong:
            self._keep_passes(operation, _PASSES_AT_ONCE)

    def keep_pulls(self, pulls: Mapping[Key, Pull]) -> None:
        """Write down what the errors of all passing results say, in one record."""
        self._append(("pulls", dict(pulls)))

    def keep_ending(self, ending: Ending, problem: str = "") -> None:
        """Write down how the run ended, and what is known only at its end.

        That is whether second passes gave the same bits, and the outputs of all passes where something was wrong.
        """
        self._append(("same", self._same_bits))
        for operation in self._wrong:
            self._keep_passes(operation, len(self._seen))
        self._append(("ends", ending, problem[:_LONGEST_MESSAGE]))

    def keep_law(self, law: Law, calls: int) -> None:
        """Write down a law that was measured, and how many calls there were until then."""
        self._append(("law", (*vars(law).values(),), calls))

    def _keep_passes(self, operation: str, most: int) -> None:
        """Keep the outputs of passes of an operation, up to so many; a diagnosis of a fault needs them."""
        passed = self._passed[operation]
        while passed and self._passes_kept[operation] < most:
            self._passes_kept[operation] += 1
            self._keep_outputs(passed.pop(next(iter(passed))))

    def _keep_outputs(self, result: Result) -> None:
        if result.got is None:
            return
        outputs = pickle.dumps(dict(result.got), 5)
        if self._used + len(outputs) < _FOR_OUTPUTS:
            self._append(("outputs", result.case.id, result.dtype))
            self._write(outputs, holds_outputs=True)

    def _append_entry(self, key: Key, entry: JournalEntry) -> None:
        self._append(("has", *key, _verdict_as_tuple(entry.verdict), entry.seconds, entry.same_bits))

    def _find_end(self) -> None:
        """Go on writing where another process stopped."""
        self._used, self._count = _HEAD.unpack_from(self._memory)

    def _forget_question(self) -> None:
        _QUESTION.pack_into(self._memory, _SLOTS - _QUESTION.size, 0)

    def _append(self, record: tuple[Any, ...]) -> None:
        self._write(pickle.dumps(record, 5), holds_outputs=False)

    def _write(self, content: bytes, *, holds_outputs: bool) -> None:
        start = self._used + _RECORD.size
        end = start + len(content)
        self._memory[start:end] = content
        _RECORD.pack_into(self._memory, self._used, len(content), holds_outputs)
        # Last of all: a record that is half written when the process ends does not count.
        _HEAD.pack_into(self._memory, 0, end, self._count)
        self._used = end

    def _requested(self) -> Requested | None:
        (question,) = _QUESTION.unpack_from(self._memory, _SLOTS - _QUESTION.size)
        length, slot = divmod(question, 2)
        if not length:
            return None
        start = _SLOTS + slot * _SLOT
        case, dtype, occasion = self._memory[start : start + length].decode().split(" ")
        return Requested(case, dtype, cast("Occasion", occasion))

    def entries_since(self, start: int) -> tuple[list[tuple[Key, JournalEntry]], int]:
        """Return the results that came since, in order, and where to go on; `start` is 0 at first."""
        used, _ = _HEAD.unpack_from(self._memory)
        verdict, _ = _verdict_reader()
        entries = [
            ((record[1], record[2]), JournalEntry(verdict(record[3]), record[4], record[5]))
            for record in self._records(start or _START, used)
            if record[0] == "has"
        ]
        return entries, max(used, start)

    def _records(self, start: int = _START, until: int | None = None) -> Generator[tuple[Any, ...]]:
        """Give each record; outputs as the position where they lie."""
        used = _HEAD.unpack_from(self._memory)[0] if until is None else until
        while start < used:
            length, holds_outputs = _RECORD.unpack_from(self._memory, start)
            start += _RECORD.size
            span = slice(start, start + length)
            yield ("at", span) if holds_outputs else self._loads(self._memory[span])
            start += length

    def _loads(self, content: bytes) -> Any:
        return pickle.loads(content)

    def read(self) -> Reported:
        """Return what the journal holds."""
        declaration: Declaration | None = None
        results: dict[Key, JournalEntry] = {}
        ending: Ending | None = None
        problem = ""
        outputs: dict[Key, slice] = {}
        settled: set[Key] = set()
        about: Mapping[str, str] = {}
        laws: list[tuple[Any, ...]] = []
        calls = 0
        key = ("", "")
        verdict, right = _verdict_reader()
        for record in self._records():
            match record:
                case ("has", case, dtype, plain, seconds, same_bits):
                    key = (case, dtype)
                    found = results[key] = JournalEntry(verdict(plain), seconds, same_bits)
                    (settled.discard if found.verdict.status in right else settled.add)(key)
                    outputs.pop(key, None)
                case ("again", case, dtype, same_bits):
                    results[case, dtype] = results[case, dtype]._replace(same_bits=same_bits)
                    settled.add((case, dtype))
                case ("declares", declaration):
                    pass
                case ("about", more):
                    about = {**about, **more}
                case ("goes on",):
                    ending, problem = None, ""
                    laws = []
                case ("law", law, calls):
                    laws.append(law)
                case ("outputs", case, dtype):
                    key = (case, dtype)
                case ("at", span):
                    outputs[key] = span
                case ("same" | "pulls" as kind, later):
                    results |= {of: _completed(results[of], kind, known) for of, known in later.items()}
                case ("ends", ending, problem):
                    pass
                case _:
                    raise ValueError(f"the journal holds {record[0]!r}")

        def got(of: Key) -> Mapping[str, NDArray[Any]] | None:
            return self._loads(self._memory[outputs[of]]) if of in outputs else None

        measured = _measured(laws, calls) if laws else None
        return Reported(declaration, self._requested(), results, ending, problem, got, settled, about, measured)


def _completed(entry: JournalEntry, kind: Literal["same", "pulls"], known: Any) -> JournalEntry:
    """Return an entry with what is known at the end of a run alone."""
    if kind == "same":
        return JournalEntry(entry.verdict, entry.seconds, known)
    return JournalEntry(entry.verdict._replace(pull=known), entry.seconds, entry.same_bits)


def _measured(laws: Sequence[tuple[Any, ...]], calls: int) -> Measured:
    from attnspec.runner.result import Law, Measured

    return Measured(tuple(Law(*fields) for fields in laws), calls)


def _verdict_as_tuple(verdict: Verdict) -> tuple[Any, ...]:
    """Return a verdict as a tuple of tuples, which is written and read in a tenth of the time."""
    if verdict.worst is None:
        return (None, *verdict)
    fields: list[Any] = [*verdict]
    fields[_WORST] = None
    return ((*vars(verdict.worst).values(),), *fields)


def _verdict_reader() -> tuple[Callable[[tuple[Any, ...]], Verdict], Collection[str]]:
    """Return a reader of verdicts written by `_verdict_as_tuple`, and the statuses that a second call may change."""
    from attnspec.grading import RIGHT, Verdict, Worst

    def verdict(plain: tuple[Any, ...]) -> Verdict:
        worst, *fields = plain
        if worst is not None:
            fields[_WORST] = Worst(*worst)
        return Verdict(*fields)

    return verdict, RIGHT
