"""Changes between two reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnspec.grading import WRONG
from attnspec.reports.accuracy import rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.reports.accuracy import Accuracy

Runs = tuple[tuple[str, str], ...]
"""(case, dtype) of some runs."""


@dataclass(frozen=True)
class Changes:
    """Changes from an older report to a newer one, as runs (case, dtype).

    `failing` went right before, `lost` are no longer offered, `gained` are newly offered and right; `new`,
    `new_failing` are unknown to the older report, `vanished` to the newer. `same_suite`: both used the same golden
    files. `accuracy`: old and new median and worst error / tolerance over the runs that both had compared, None where
    there are none.
    """

    failing: Runs
    fixed: Runs
    lost: Runs
    gained: Runs
    new: Runs
    new_failing: Runs
    vanished: Runs
    same_suite: bool
    accuracy: tuple[Accuracy, Accuracy] | None

    @property
    def is_worse(self) -> bool:
        """Whether anything goes wrong, is missing or has vanished that was right or there before."""
        return bool(self.failing or self.lost or self.new_failing or self.vanished)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Changes:
    """Compare two report.json documents, run by run."""
    before, after = _statuses(old), _statuses(new)
    both = [run for run in after if run in before]
    ranked = {entry.position: entry for entry in rank((old, new), ("old", "new"))}
    return Changes(
        failing=tuple(run for run in both if after[run] in WRONG and before[run] not in WRONG),
        fixed=tuple(run for run in both if after[run] == "pass" and before[run] in WRONG),
        lost=tuple(run for run in both if after[run] == "unsupported" and before[run] != "unsupported"),
        gained=tuple(run for run in both if after[run] == "pass" and before[run] == "unsupported"),
        new=tuple(run for run in after if run not in before),
        new_failing=tuple(run for run in after if run not in before and after[run] in WRONG),
        vanished=tuple(run for run in before if run not in after),
        same_suite=old["suite"]["digest"] == new["suite"]["digest"],
        accuracy=(ranked[0], ranked[1]) if ranked else None,
    )


def _statuses(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {(result["case"], result["dtype"]): result["status"] for result in document["results"]}
