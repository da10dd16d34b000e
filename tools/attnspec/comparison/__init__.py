"""Comparing what came back with what is owed: tolerances, conventions, verdicts."""

from attnspec.comparison.elements import Compared, Worst, compare_output
from attnspec.comparison.expectation import Expectation, MustRefuse, NotGraded, Properties, Values, expectation
from attnspec.comparison.grading import NOT_GRADED, RIGHT, STATUSES, WRONG, Status, Verdict, grade
from attnspec.comparison.holding import Held, held, left_open
from attnspec.comparison.run import Run

__all__ = [
    "NOT_GRADED",
    "RIGHT",
    "STATUSES",
    "WRONG",
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
    "compare_output",
    "expectation",
    "grade",
    "held",
    "left_open",
]
