"""Tolerances and verdicts without a suite: what a run expects is stated by the test."""

from attnspec import grading as comparison
from attnspec.contract import OPERATIONS
from attnspec.families.lookup import family_of
from attnspec.grading import Run


def tolerance(operation, inputs, attributes, precision, conventions=None):
    return family_of(operation).tolerance(operation, inputs, attributes, precision, conventions or {})


def grade(operation, dtype, answer, expected, bound, index=0, attributes=None):
    run = Run(None, dtype, OPERATIONS[operation], family_of(operation), attributes or {}, expected, bound, index)
    return comparison.grade(run, answer)
