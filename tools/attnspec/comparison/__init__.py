"""Comparing what came back with what is owed: tolerances, conventions, verdicts."""

from attnspec.comparison.expectation import Expectation, MustRefuse, NotGraded, Properties, Values, expectation
from attnspec.comparison.grading import STATUSES, WRONG, Status, Verdict, Worst, grade
from attnspec.comparison.precision import Precision, precision_of, stacked
from attnspec.comparison.run import Run
from attnspec.comparison.tolerance import Tolerance

__all__ = [
    "STATUSES",
    "WRONG",
    "Expectation",
    "MustRefuse",
    "NotGraded",
    "Precision",
    "Properties",
    "Run",
    "Status",
    "Tolerance",
    "Values",
    "Verdict",
    "Worst",
    "expectation",
    "grade",
    "precision_of",
    "stacked",
]
