"""Comparing what came back with what is owed: tolerances, conventions, verdicts."""

from attnspec.comparison.expectation import Expectation, MustRefuse, NotGraded, Values, expectation
from attnspec.comparison.grading import STATUSES, WRONG, Status, Verdict, Worst, grade
from attnspec.comparison.precision import Precision, precision_of, stacked
from attnspec.comparison.properties import grade_glorot_normal
from attnspec.comparison.tolerance import Tolerance, tolerance

__all__ = [
    "STATUSES",
    "WRONG",
    "Expectation",
    "MustRefuse",
    "NotGraded",
    "Precision",
    "Status",
    "Tolerance",
    "Values",
    "Verdict",
    "Worst",
    "expectation",
    "grade",
    "grade_glorot_normal",
    "precision_of",
    "stacked",
    "tolerance",
]
