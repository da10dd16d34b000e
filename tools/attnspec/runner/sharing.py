"""The share of a suite that one of several processes runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from attnspec.cases import Case, Suite


class Share(NamedTuple):
    """Which of how many shares; they are numbered from 0."""

    number: int
    of: int


def share_of(suite: Suite, share: Share) -> Suite:
    """Return a share of the cases; a refusal and its valid twin are in the same one.

    Parameters
    ----------
    suite
        All cases.
    share
        Which share.
    """
    if share.of == 1:
        return suite
    # Neighbours are alike in size, so that they are dealt out in turn.
    places = {first: place for place, first in enumerate(dict.fromkeys(map(_first, suite.cases.values())))}
    kept = {case.id: case for case in suite.cases.values() if places[_first(case)] % share.of == share.number}
    return replace(suite, cases=kept)


def _first(case: Case) -> str:
    """Return the id of the case that decides where a case goes."""
    return case.id if case.rejects is None else case.rejects.twin
