"""The file of a campaign: what it is about, then a line for each part as soon as it is done.

A line that a kill cut in half is no line. What is read twice counts once, because parts have keys.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, cast

from attnspec.campaign.outcome import PartOutcome, outcome_from_json
from attnspec.campaign.plan import Plan, plan_from_lines
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import IO

FORMAT = 2
"""In the first one, each eighth draw was two."""


class Kept:
    """The file of a campaign, open to be written on.

    Parameters
    ----------
    path
        The file; one that does not exist is begun.
    about
        What the campaign is about: only a campaign about the same may go on with a file.

    Raises
    ------
    UsageError
        If it is no file of a campaign, or of one about something else.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.plan: Plan | None = None
        self.outcomes: dict[str, PartOutcome] = {}
        self._about = dict(about)
        whole = self._read(path) if path.exists() else 0
        self._file: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        # What was cut in half is written over.
        self._file.seek(whole)
        self._file.truncate()

    def begin(self, plan: Plan) -> None:
        """Write down the plan."""
        self.plan = plan
        self._write({"format": FORMAT, "about": self._about, "seed": plan.seed, "kinds": plan.as_lines()})

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
            about, seed, kinds = head["about"], head["seed"], cast("list[str]", head["kinds"])
            self.outcomes = {each.key: each for each in (outcome_from_json(json.loads(line)) for line in lines[1:])}
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{path} is no file of a campaign; name another one, or remove it.") from None
        different = [name for name in self._about if about.get(name) != self._about[name]]
        if different or head["format"] != FORMAT:
            raise UsageError(
                f"{path} is of a campaign with another {', '.join(different) or 'format'}; "
                "go on with the same words, or name another file."
            )
        self.plan = plan_from_lines(seed, kinds, None)
        return end
