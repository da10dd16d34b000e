"""Flags of a test vector: the mistakes that it catches by its numbers alone, each with a note on what they are."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.diagnosis.mistake_outputs import mistake_outputs
from attnspec.grading import MustRefuse
from attnspec.grading.one_rule import Bounded, bounded_outputs, keeps_the_rule
from attnspec_mistakes import CATALOGUE, Mistake
from attnspec_mistakes.kill_matrix import KEPT_IN, noticed_cases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.grading import Run

ENOUGH = 4
"""Mistakes that a case was not made for join its flags up to so many: the most particular ones, which few catch."""

_BUG_TYPES = {
    "rejects": "refusal",
    **dict.fromkeys(("stability", "precision"), "precision"),
    **dict.fromkeys(("empty", *(name for name in CONVENTIONS if CONVENTIONS[name].settles is Settles.RESULTS)), "edge"),
}
"""Subject of a clause, the second word of its id, to the kind of bug that breaks it; all others are of the formula.

Conventions are about edges: about what good libraries do otherwise.
"""

_BY_ID = {mistake.id: mistake for mistake in CATALOGUE}


def flags_of(run: Run) -> tuple[str, ...]:
    """Return the ids of mistakes that a run catches, each of which was computed and breaks the one rule.

    First come those that its case is there to catch, then others that few cases catch.
    """
    in_c_order = run._replace(case=run.case._replace(memory_order={}))
    bounds = bounded_outputs(in_c_order)

    def is_caught(mistake: Mistake) -> bool:
        # What layouts alone allow, or a second call, no file shows.
        if mistake.in_layout or mistake.begin is not None:
            return False
        got = mistake_outputs(mistake, in_c_order)
        if isinstance(run.expected, MustRefuse) or got is None:
            return got is not None
        return any(_differs(got[name], bounded) for name, bounded in bounds.items() if name in got)

    found = [name for name in run.case.targets if is_caught(_BY_ID[name])]
    for name in _particular(run.case.operation).get(run.case.id, ()):
        if len(found) >= ENOUGH:
            break
        if name not in found and is_caught(_BY_ID[name]):
            found.append(name)
    return tuple(found)


def note(mistake_id: str) -> dict[str, Any]:
    """Return the note of a flag: kind of bug, what it is, its effect, what to do, how many cases notice it, links."""
    mistake = _BY_ID[mistake_id]
    optional = {"erratum": mistake.erratum, "links": [mistake.source] if mistake.source else None}
    return {
        "bug_type": _BUG_TYPES.get(mistake.clause.split(".")[1], "formula"),
        "description": mistake.engineer,
        "effect": mistake.sentence,
        "remedy": mistake.remedy,
        "clause": mistake.clause,
        "noticed_by": len(noticed_cases(mistake.operation, KEPT_IN[0]).get(mistake_id, ())),
        **{name: value for name, value in optional.items() if value},
    }


def _differs(got: NDArray[Any], bounded: Bounded) -> bool:
    """Return whether an output breaks the rule for one who compares rows of numbers, whatever the shape."""
    return got.size != bounded.expected.size or not keeps_the_rule(got.reshape(bounded.expected.shape), bounded)


@cache
def _particular(operation: str) -> Mapping[str, tuple[str, ...]]:
    """Return each case of an operation to the mistakes that it notices, those that the fewest cases notice first."""
    noticed = noticed_cases(operation, KEPT_IN[0])
    found: dict[str, list[str]] = {}
    for mistake, cases in sorted(noticed.items(), key=lambda entry: (len(entry[1]), entry[0])):
        for case in cases if mistake in _BY_ID else ():
            found.setdefault(case, []).append(mistake)
    return {case: tuple(mistakes) for case, mistakes in found.items()}
