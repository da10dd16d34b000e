"""File of a campaign: its subject, digests of the target's own files, then a line for each part that is done.

A line that a kill cut in half is no line. A part that is read twice counts once, because parts have keys.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

from attnspec.base.errors import UsageError
from attnspec_draws.campaign.outcome import PartOutcome, outcome_from_json
from attnspec_draws.campaign.plan import Plan, plan_from_lines

FORMAT = 2
"""In the first one, each eighth draw was two."""


class Kept:
    """File of a campaign, open to be appended to; one that does not exist is begun.

    Only the same campaign with the same `sources` (digests of the target's own files) may go on; else `UsageError`, as
    for a file that is none or cannot be written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        self.plan: Plan | None = None
        self.outcomes: dict[str, PartOutcome] = {}
        self._about = dict(about)
        self._sources = dict(sources)
        # A device or a pipe may have no end.
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no regular file: name one, or one that does not exist yet.")
        try:
            whole = self._read(path) if path.exists() else 0
            self._file: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        except OSError as error:
            raise UsageError(f"{path} cannot be read and written: {error.strerror}.") from None
        # What was cut in half is written over.
        self._file.seek(whole)
        self._file.truncate()

    def begin(self, plan: Plan) -> None:
        """Write down the plan."""
        self.plan = plan
        head = {
            "format": FORMAT,
            "about": self._about,
            "sources": self._sources,
            "seed": plan.seed,
            "kinds": plan.as_lines(),
        }
        self._write(head)

    def keep(self, outcome: PartOutcome) -> None:
        """Write down what came of a part; when this returns, no kill can take it away."""
        self.outcomes[outcome.key] = outcome
        self._write(outcome.as_json())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, document: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, path: Path) -> int:
        """Read what is whole, and return how many bytes that is."""
        content = path.read_bytes()
        end = content.rfind(b"\n") + 1
        lines = content[:end].splitlines()
        if not lines:
            return 0
        try:
            head = json.loads(lines[0])
            self._check(path, head)
            seed, kinds = head["seed"], cast("list[str]", head["kinds"])
            self.outcomes = {each.key: each for each in (outcome_from_json(json.loads(line)) for line in lines[1:])}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"{path} is no file of a campaign; name another one, or remove it.") from None
        self.plan = plan_from_lines(seed, kinds, None)
        return end

    def _check(self, path: Path, head: Mapping[str, Any]) -> None:
        """Refuse a file that another campaign has begun."""
        if head["format"] != FORMAT:
            raise UsageError(f"{path} was begun by another version of attnspec; name another file, or remove it.")
        about = head["about"]
        different = [
            f"{name} {_said(about.get(name))}, and this command has {_said(value)}"
            for name, value in self._about.items()
            if _said(about.get(name)) != _said(value)
        ]
        if different:
            raise UsageError(
                f"{path} was begun with {'; with '.join(different)}: go on with the same words, or name another file."
            )
        before = head["sources"]
        changed = sorted(name for name in {*before, *self._sources} if before.get(name) != self._sources.get(name))
        if changed:
            raise UsageError(
                f"{', '.join(changed)} changed since {path} was begun, which holds what came of the code before: "
                "name another file, or remove it."
            )


def _said(value: Any) -> str:
    """Write what a command says of something."""
    words = ",".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value
    return str(words) if words else "none"
