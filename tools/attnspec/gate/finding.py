"""Findings of a gate, and its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attnspec.base.plain_text import plain_text
from attnspec.reports.wording import ending_sentence

if TYPE_CHECKING:
    from attnspec.gate.group import Group
    from attnspec.runner import Result

HEADINGS: Mapping[str, str] = json.loads(Path(__file__).with_name("headings.json").read_bytes())
"""Kind of finding to the heading over its sentences, in the order of a report."""

Weight = Literal["fails", "warns", "notes"]


@dataclass(frozen=True)
class Finding:
    """Finding of a gate: its weight, and a sentence with the fault and the remedy.

    `subject` is a case (then in `dtype`), a profile, an operation or a dtype; empty where the sentence says it all.
    """

    kind: str
    weight: Weight
    subject: str
    dtype: str | None
    sentence: str
    result: Result | None = None


def failure(kind: str, result: Result, sentence: str) -> Finding:
    """Return the finding that a result fails the gate."""
    return Finding(kind, "fails", result.case.id, result.dtype, sentence, result)


def result_ending(result: Result) -> str:
    """Return how a result ended, harmless, with the declared conventions under which it was graded."""
    return plain_text(ending_sentence(result.verdict.message or result.status, result.verdict.under))


@dataclass(frozen=True)
class Outcome:
    """Outcome of a gate; `expected` counts known wrong results, `findings` are in the order of `HEADINGS`."""

    name: str
    passed: int
    graded: int
    expected: int
    findings: tuple[Finding, ...]
    groups: tuple[Group, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the gate lets the implementation through."""
        return not self.findings_of_weight("fails")

    def findings_of_weight(self, weight: Weight) -> tuple[Finding, ...]:
        """Return the findings of one weight."""
        return tuple(finding for finding in self.findings if finding.weight == weight)

    @property
    def unexpected(self) -> tuple[Result, ...]:
        """The wrong results that fail the gate."""
        return tuple(
            finding.result
            for finding in self.findings_of_weight("fails")
            if finding.result is not None and finding.result.is_wrong
        )
