"""Comparing answers with the expected values: tolerances, conventions, verdicts."""

from attnspec.grading.elements import Compared, InInterval, Worst, compare, in_interval, left_open
from attnspec.grading.expectation import Expectation, MustRefuse, NotGraded, Properties, Run, Values, expectation
from attnspec.grading.verdicts import (
    LAYER,
    NOT_GRADED,
    OF_RUN,
    OUTPUTS_UNCHANGED,
    RIGHT,
    STATUSES,
    SYSTEMATIC,
    WRONG,
    Status,
    Verdict,
    grade,
    is_clause_of_run,
    with_overwritten,
)

__all__ = [
    "LAYER",
    "NOT_GRADED",
    "OF_RUN",
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
    "is_clause_of_run",
    "left_open",
    "with_overwritten",
]
