"""Comparing what came back with what is owed: tolerances, conventions, verdicts."""

from attnspec.comparison.elements import Compared, Held, Worst, compare, held, left_open
from attnspec.comparison.expectation import Expectation, MustRefuse, NotGraded, Properties, Values, expectation
from attnspec.comparison.grading import (
    NOT_GRADED,
    OUTPUTS_UNCHANGED,
    RIGHT,
    STATUSES,
    WRONG,
    Status,
    Verdict,
    grade,
    with_overwritten,
)
from attnspec.comparison.one_rule import Bounded, bounded
from attnspec.comparison.run import Run

__all__ = [
    "NOT_GRADED",
    "OUTPUTS_UNCHANGED",
    "RIGHT",
    "STATUSES",
    "WRONG",
    "Bounded",
    "Compared",
    "Expectation",
    "Held",
    "MustRefuse",
    "NotGraded",
    "Properties",
    "Run",
    "Status",
    "Values",
    "Verdict",
    "Worst",
    "bounded",
    "compare",
    "expectation",
    "grade",
    "held",
    "left_open",
    "with_overwritten",
]
