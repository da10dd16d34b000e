"""Comparing answers with the expected values: tolerances, conventions, verdicts."""

from attnspec.grading.elements import Compared, InInterval, Worst, compare, in_interval, left_open
from attnspec.grading.expectation import Expectation, MustRefuse, NotGraded, Properties, Run, Values, expectation
from attnspec.grading.verdicts import (
    NOT_GRADED,
    OUTPUTS_UNCHANGED,
    RIGHT,
    STATUSES,
    SYSTEMATIC,
    WRONG,
    Status,
    Verdict,
    grade,
    with_overwritten,
)

__all__ = [
    "NOT_GRADED",
    "OUTPUTS_UNCHANGED",
    "RIGHT",
    "STATUSES",
    "SYSTEMATIC",
    "WRONG",
    "Compared",
    "Expectation",
    "InInterval",
    "MustRefuse",
    "NotGraded",
    "Properties",
    "Run",
    "Status",
    "Values",
    "Verdict",
    "Worst",
    "compare",
    "expectation",
    "grade",
    "in_interval",
    "left_open",
    "with_overwritten",
]
