"""Two merged parts with as many decimal digits as one likes, written from the page."""

from fractions import Fraction

import mpmath
import numpy as np
from multiprecision import Evaluation, many_digits


class MergeStates(Evaluation):
    operation = "merge_states"

    def parts(self, row, number):
        """The logarithm and the output of each part that has keys."""
        inputs = self.inputs
        given = ((inputs.logsumexp_a, inputs.output_a), (inputs.logsumexp_b, inputs.output_b))
        return [(number(logsumexp[row]), output[row]) for logsumexp, output in given if logsumexp[row] != -np.inf]

    def output(self, index, number):
        parts = self.parts(index[:3], number)
        values = [number(output[index[3]]) for _, output in parts]
        if not parts:
            return 0
        if number is Fraction:
            equal = len({logsumexp for logsumexp, _ in parts}) == 1 or len(set(values)) == 1
            return sum(values) / len(values) if equal else None
        weights = [mpmath.exp(logsumexp - parts[0][0]) for logsumexp, _ in parts]
        return mpmath.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / mpmath.fsum(weights)

    def logsumexp(self, index, number):
        parts = self.parts(index, number)
        if not parts:
            return -mpmath.inf
        if number is not many_digits:
            return parts[0][0] if len(parts) == 1 else None
        first = parts[0][0]
        return first + mpmath.log(mpmath.fsum(mpmath.exp(logsumexp - first) for logsumexp, _ in parts))
