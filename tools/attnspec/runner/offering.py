"""Which families an implementation offers: one that it offers nothing of is left out, and told in one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Case, Suite


class Offered(NamedTuple):
    """The part of a suite that concerns an implementation.

    Attributes
    ----------
    suite
        The cases of the families of which it offers an operation; every case where it offers none of them.
    left_out
        Family to the number of its cases that are left out.
    """

    suite: Suite
    left_out: Mapping[str, int]


def offered_part(suite: Suite, operations: Sequence[str]) -> Offered:
    """Leave out the families of which an implementation offers no operation.

    Parameters
    ----------
    suite
        The selected cases.
    operations
        The operations that the implementation offers.
    """
    families = {OPERATIONS[operation].family for operation in operations}
    kept = {case.id: case for case in suite.cases.values() if _family(case) in families}
    if not kept:
        return Offered(suite, {})
    others = Counter(_family(case) for case in suite.cases.values() if _family(case) not in families)
    return Offered(replace(suite, cases=kept), others)


def _family(case: Case) -> str:
    return OPERATIONS[case.operation].family
