"""Content of an offer: whether it explains what came back, and does not merely leave it ungraded.

A convention or a lacking capability that is declared takes cases away. So it is offered only where what came is what
it says: an error where it refuses, NaN where it says NaN, an answer where it accepts; and where a capability lacks,
an error, or the numbers that come of reading the argument as one of another kind.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract import CONVENTIONS, OPERATIONS, READ_OTHERWISE
from attnspec.contract.declarations import CHOICES
from attnspec.diagnosis.evidence import Evidence
from attnspec.diagnosis.grading_anew import graded_anew
from attnspec.grading import RIGHT, Values, left_open
from attnspec.runner import Result
from attnspec_mistakes import READINGS, Mistake, mistakes_of

ANYTHING = "anything"
"""The form of results that a choice leaves open, whatever stands there."""


def is_explained(result: Result, now: Result) -> bool:
    """Return whether a failure is none any more as it is graded `now`, because of what the declared choices say."""
    forms = _forms(now.run.conventions)
    if now.status == "unsupported":
        is_refused = result.status == "error" and "raised" in forms
        # Where nothing is looked at, a call that ought to be refused may also never end, or end all.
        is_let_in = result.verdict.check == "rejects" or result.case.rejects is not None
        return is_refused or (is_let_in and "answered" in forms)
    return now.status in RIGHT and (result.got is None or _has_form(result, now, forms))


def _forms(conventions: Mapping[str, str]) -> frozenset[str]:
    """Return the forms of the results that choices leave open, or ask for."""
    found = (CONVENTIONS[name].comes_as.get(choice) for name, choice in conventions.items() if name in CONVENTIONS)
    return frozenset(form for form in found if form is not None)


def _has_form(result: Result, now: Result, forms: frozenset[str]) -> bool:
    """Return whether wrong elements that are left open now are NaN, NaN or infinity, or finite, as the choices say.

    Where one of them says that anything may stand, this holds of the elements that it alone leaves open.
    """
    if ANYTHING in forms:
        others = {
            name: CHOICES[name][0] if CONVENTIONS[name].comes_as.get(choice) == ANYTHING else choice
            for name, choice in now.run.conventions.items()
        }
        now, forms = graded_anew(result, others), forms - {ANYTHING}
    expected = now.run.expected
    if not isinstance(expected, Values) or now.run.bound is None:
        return True
    evidence = Evidence(result)
    for name, wrong in evidence.wrong.items():
        unspecified = left_open(now.run, expected, name) if name in expected.outputs else None
        if unspecified is not None and not _of_a_form(evidence.given[name][wrong & unspecified], forms).all():
            return False
    return True


def _of_a_form(numbers: NDArray[Any], forms: frozenset[str]) -> NDArray[np.bool_]:
    """Return which numbers have one of some forms; all where none of the forms is one of numbers."""
    holds = {"nan": np.isnan(numbers), "nan_or_infinity": ~np.isfinite(numbers), "finite": np.isfinite(numbers)}
    found = [holds[form] for form in forms if form in holds]
    return np.logical_or.reduce(found) if found else np.ones(numbers.shape, dtype=np.bool_)


def comes_of_lack(result: Result, needed: Iterable[str]) -> bool:
    """Return whether a failure is what comes where one of the capabilities that its case needs lacks."""
    if result.status in ("error", "malformed"):
        return True
    if result.verdict.check != "values" or result.got is None:
        return False
    evidence = Evidence(result)
    readings = [mistake for word in needed for mistake in _reading_otherwise(result.case.operation, word)]
    agreements = (evidence.agreement(mistake, whole=False) for mistake in readings)
    # NaN on one side takes other ways through two programs: it speaks neither for nor against.
    return any(agreement.matches or not agreement.decided for agreement in agreements) or any(
        map(evidence.agrees_where_something_is_left, readings)
    )


@cache
def _reading_otherwise(operation: str, capability: str) -> tuple[Mistake, ...]:
    """Return the mistakes of an operation that are made where a capability is merely absent."""
    ids = {f"{OPERATIONS[operation].short_name}.{name}" for name in READ_OTHERWISE.get(capability, ())}
    return tuple(mistake for mistake in (*mistakes_of(operation), *READINGS) if mistake.id in ids)
