"""Grading a computation by hand: what it returns against the certified oracle, in units of the tolerance."""

import numpy as np
import pytest

from attnspec.bounds import precision_of
from attnspec.contract.dtypes import rounded_to, to_run_dtype
from attnspec.contract.implementation import Outputs
from attnspec.grading import Values
from attnspec_mistakes.patches import by_name
from attnspec_oracle import evaluate

from .by_hand import grade, tolerance


class Graded:
    """Inputs of one operation in one dtype, with what is expected for them."""

    def __init__(self, operation, inputs, attributes, dtype, **precision):
        self.operation, self.attributes, self.dtype = operation, attributes, dtype
        self.given = {name: to_run_dtype(array, dtype) for name, array in inputs.items()}
        seen = {name: rounded_to(array, dtype) for name, array in inputs.items()}
        self.expected = evaluate(operation, seen, attributes)
        self.bound = tolerance(operation, seen, attributes, precision_of(dtype, **precision))

    def verdict_on(self, function):
        """The verdict on a function that takes the operation's arguments and returns its outputs."""
        with np.errstate(all="ignore"):
            outputs = by_name(function(**{name: array.copy() for name, array in self.given.items()}, **self.attributes))
        return grade(self.operation, self.dtype, Outputs(outputs), Values(self.expected), self.bound)


@pytest.fixture(scope="session")
def graded():
    return Graded
