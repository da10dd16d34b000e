"""Index of all strangers' implementations: what is wrong with each, its first score, and a case that fails it now.

``tests/strangers/index.json`` has one line a batch and one row an implementation, sorted. A first score is written
once; the case that notices an implementation is renewed by ``python -m attnspec_authoring.strangers --write``. Where a
mistake shows, its author says in ``batch.json``, in the archive alone.
"""

from __future__ import annotations

import ast
import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError
from attnspec_authoring.strangers.archives import STRANGERS, ArchiveError, batch_number, files_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

INDEX = STRANGERS / "index.json"
FORMAT = 2
COLUMNS = ("file", "operation", "clauses", "shown_by_small_cases", "first", "noticed_by", "sentence")
"""Fields that every row of an implementation has; those of `RARE` follow in an object, where there are any."""
RARE = ("taught", "reason", "left_open", "needs")
KILLED, SURVIVED = "killed", "survived"
"""First scores of a wrong implementation."""
PASSED, FAILED = "passed", "failed"
"""First scores of a right one."""


@dataclass(frozen=True)
class Stranger:
    """Implementation of a blind batch: a file under ``wrong/`` or ``right/``.

    `operation` is the one that it gets wrong, None for a right one; `sentence` its author's words, or a right one's
    docstring; `clauses` are those that author or two judges say it breaks; `shown_by_small_cases` whether its author
    expected small fixtures to show it (``in_reach`` in ``batch.json``), None for a right one.

    `first` is the outcome of its batch's first score, None where none was kept; `taught` the class of cases that
    a survivor called for; `noticed_by` a case of the present suite that fails it, or None; `reason` says why none does,
    or why one may fail a right one; `left_open` marks a wrong one that the pages leave open by now, so that no case may
    fail it; `needs` is a library beyond NumPy.
    """

    batch: str
    file: str
    operation: str | None = None
    sentence: str | None = None
    clauses: tuple[str, ...] = ()
    shown_by_small_cases: bool | None = None
    first: str | None = None
    taught: str | None = None
    noticed_by: str | None = None
    reason: str | None = None
    left_open: bool = False
    needs: str | None = None

    @property
    def name(self) -> str:
        """Batch and file."""
        return f"{self.batch}/{self.file}"

    @property
    def is_right(self) -> bool:
        """Whether its author took it for right."""
        return self.file.startswith("right/")

    @property
    def must_fail(self) -> bool:
        """Whether a case must fail it: some case did before."""
        return not self.is_right and self.noticed_by is not None

    @property
    def must_pass(self) -> bool:
        """Whether no case may fail it."""
        return self.left_open or (self.is_right and self.noticed_by is None and self.reason is None)


@dataclass(frozen=True)
class Batch:
    """Blind batch, with the suite at its first score; None where no score was kept.

    `sha256` is the digest of the digests and names of all its files (`files_digest`); `note` says what its first score
    does not say.
    """

    name: str
    sha256: str
    cases: int | None = None
    suite: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Index:
    """Index of all batches, by number, and all implementations, by batch and file.

    `cases` and `suite` (a digest) are of the suite to which `Stranger.noticed_by` refers.
    """

    cases: int
    suite: str
    batches: tuple[Batch, ...]
    strangers: tuple[Stranger, ...]

    def of(self, batch: str) -> tuple[Stranger, ...]:
        """Return the implementations of a batch."""
        return tuple(stranger for stranger in self.strangers if stranger.batch == batch)

    def with_strangers(self, changed: Iterable[Stranger]) -> Index:
        """Return an index in which some implementations are replaced or added."""
        known = {stranger.name: stranger for stranger in self.strangers}
        known |= {stranger.name: stranger for stranger in changed}
        return replace(self, strangers=tuple(sorted(known.values(), key=_order)))


def read_index(path: Path = INDEX) -> Index:
    """Read the index; `ArchiveError` where it is missing, no JSON, or has a line that is not understood."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, not {FORMAT}")
        strangers = tuple(_stranger(batch, row) for batch, rows in document["strangers"].items() for row in rows)
        batches = tuple(Batch(**line) for line in document["batches"])
        return Index(document["cases"], document["suite"], batches, strangers)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ArchiveError(f"{path} cannot be read ({error}); take it from the repository again.") from None


def index_text(index: Index) -> str:
    """Return the text of the index: one line a batch and an implementation; unknown fields of batches are left out."""
    batches = [{name: value for name, value in vars(batch).items() if value is not None} for batch in index.batches]
    rows = [f"{_text(batch.name)}: [\n{_lines(map(_row, index.of(batch.name)))}]" for batch in index.batches]
    return (
        f'{{"format": {FORMAT}, "cases": {index.cases}, "suite": "{index.suite}", "columns": {_text(COLUMNS)},\n'
        f'"batches": [\n{_lines(batches)}],\n"strangers": {{\n' + ",\n".join(rows) + "}}\n"
    )


def files_digest(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of lines of the SHA-256 and the name of each file, as ``sha256sum`` prints them, sorted."""
    lines = sorted(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_batch(folder: Path) -> tuple[Batch, tuple[Stranger, ...]]:
    """Read a batch as its author hands it over: ``wrong/``, ``right/``, and ``batch.json`` with a sentence for each.

    The folder is named ``batch_`` and its number; `UsageError` where it holds no implementation, or ``batch.json`` does
    not name exactly the wrong ones.
    """
    name = folder.resolve().name
    packed = files_in(folder)
    contents = {path.partition("/")[2]: content for path, content in packed.items()}
    files = [path for path in contents if _is_implementation(path)]
    if not files:
        raise UsageError(f"{folder} holds no implementation; a batch has them in wrong/ and right/.")
    wrong = {path for path in files if path.startswith("wrong/")}
    described: dict[str, dict[str, Any]] = {
        entry["file"]: entry for entry in json.loads(contents.get("batch.json", b"[]").decode("utf-8"))
    }
    for path in sorted(wrong ^ described.keys()):
        has, lacks = ("the folder", "batch.json") if path in wrong else ("batch.json", "the folder")
        raise UsageError(f"{folder}: {path} is in {has} and not in {lacks}; each wrong implementation belongs in both.")
    judged: dict[str, dict[str, Any]] = json.loads(contents.get("clauses.json", b"{}").decode("utf-8"))
    strangers = tuple(
        _described(Stranger(name, path), described[path], judged.get(path))
        if path in wrong
        else Stranger(name, path, sentence=_docstring(contents[path]))
        for path in files
    )
    return Batch(name, files_digest(packed)), strangers


def with_first_score(
    index: Index, batch: Batch, strangers: Sequence[Stranger], failing: Mapping[str, Sequence[str]]
) -> Index:
    """Return an index to which a batch and its first score are added, with the cases that fail each file.

    `UsageError` where the batch has a first score already, which is the one that counts.
    """
    if any(known.name == batch.name and known.cases is not None for known in index.batches):
        raise UsageError(f"{batch.name} has its first score already, which is the one that counts.")
    batches = {known.name: known for known in index.batches} | {batch.name: batch}
    ordered = tuple(sorted(batches.values(), key=lambda known: batch_number(known.name)))
    scored = [_scored(stranger, failing[stranger.file]) for stranger in strangers]
    return replace(index, batches=ordered).with_strangers(scored)


def _stranger(batch: str, row: Sequence[Any]) -> Stranger:
    rare: dict[str, Any] = row[len(COLUMNS)] if len(row) > len(COLUMNS) else {}
    fields: dict[str, Any] = dict(zip(COLUMNS, row[: len(COLUMNS)], strict=True)) | rare
    fields["clauses"] = tuple(fields["clauses"])
    return Stranger(batch, **fields)


def _scored(stranger: Stranger, cases: Sequence[str]) -> Stranger:
    scores = (FAILED, PASSED) if stranger.is_right else (KILLED, SURVIVED)
    return replace(stranger, first=scores[not cases], noticed_by=min(cases, default=None))


def _is_implementation(path: str) -> bool:
    folder, _, file = path.partition("/")
    return folder in ("wrong", "right") and file.endswith(".py") and not file.startswith("_")


def _described(stranger: Stranger, entry: Mapping[str, Any], judged: Mapping[str, Any] | None) -> Stranger:
    return replace(
        stranger,
        operation=entry["operation"],
        sentence=entry["sentence"],
        shown_by_small_cases=entry["in_reach"],
        clauses=tuple(judged["accepted"] if judged is not None else entry.get("clauses", ())),
    )


def _docstring(content: bytes) -> str | None:
    docstring = ast.get_docstring(ast.parse(content))
    return None if docstring is None else " ".join(docstring.partition("\n\n")[0].split())


def _order(stranger: Stranger) -> tuple[int, str]:
    return batch_number(stranger.batch), stranger.file


def _row(stranger: Stranger) -> list[Any]:
    rare = {name: value for name in RARE if (value := getattr(stranger, name))}
    return [*(getattr(stranger, name) for name in COLUMNS), *([rare] if rare else [])]


def _lines(entries: Iterable[Any]) -> str:
    return ",\n".join(map(_text, entries))


def _text(entry: Any) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
