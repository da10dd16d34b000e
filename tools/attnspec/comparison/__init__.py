"""Comparing what came back with what is owed: tolerances, conventions, verdicts."""

from attnspec.comparison.expectation import Expectation, MustRefuse, NotGraded, Properties, Values, expectation
from attnspec.comparison.grading import STATUSES, WRONG, Status, Verdict, Worst, grade
from attnspec.comparison.run import Run

__all__ = [
    "STATUSES",
    "WRONG",
    "Expectation",
    "MustRefuse",
    "NotGraded",
    "Properties",
    "Run",
    "Status",
    "Values",
    "Verdict",
    "Worst",
    "expectation",
    "grade",
]
