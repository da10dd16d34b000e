"""The norms with as many decimal digits as one likes, written from their pages."""

import math
from fractions import Fraction

import mpmath
import numpy as np
from multiprecision import UNGRADED, Evaluation, many_digits


def root(number, features, epsilon):
    """The root of the mean of the squares and epsilon; None where it is no fraction and one is wanted."""
    features = np.ravel(features)
    square = sum(number(feature) ** 2 for feature in features) / number(len(features)) + number(epsilon)
    if number is many_digits:
        return mpmath.sqrt(square)
    found = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return found if found * found == square else None


def divided(upper, lower):
    if lower is None:
        return Fraction(0) if upper == 0 else None
    return upper / lower


class RMSNorm(Evaluation):
    operation = "rms_norm"

    def output(self, index, number):
        x, weight = self.inputs.x, self.inputs.weight
        if not np.isfinite(x[index[:-1]]).all():
            return UNGRADED
        offset = number(self.attributes.get("weight_offset") == "one")
        upper = number(x[index]) * (offset + number(weight[index[-1]]))
        return divided(upper, root(number, x[index[:-1]], self.attributes["epsilon"]))


class QKNorm(Evaluation):
    operation = "qk_norm"

    def query_output(self, index, number):
        return self.of(self.inputs.query, self.inputs.query_weight, index, number)

    def key_output(self, index, number):
        return self.of(self.inputs.key, self.inputs.key_weight, index, number)

    def of(self, x, weight, index, number):
        entry, head, token, _ = index
        together = x[entry, :, token] if self.over_all_heads else x[entry, head, token]
        upper = self.rotated(lambda feature: self.weighted(x, weight, (*index[:3], feature), number), index, number)
        return divided(upper, root(number, together, self.attributes["epsilon"]))

    @property
    def over_all_heads(self):
        return self.attributes.get("normalized_over") == "all_heads"

    def weighted(self, x, weight, index, number):
        feature = index[1] * x.shape[3] + index[3] if self.over_all_heads else index[3]
        offset = number(self.attributes.get("weight_offset") == "one")
        return number(x[index]) * (offset + number(weight[feature]))

    def rotated(self, weighted, index, number):
        entry, _, token, feature = index
        cosines = getattr(self.inputs, "cos", None)
        pairs = 0 if cosines is None else cosines.shape[-1]
        if feature >= 2 * pairs:
            return weighted(feature)
        if self.attributes.get("pairing") == "interleaved":
            pair, is_second = divmod(feature, 2)
            partner = feature - 1 if is_second else feature + 1
        else:
            is_second, pair = divmod(feature, pairs)
            partner = pair if is_second else feature + pairs
        cos, sin = (number(table[entry, token, pair]) for table in (cosines, self.inputs.sin))
        own, other = weighted(feature), weighted(partner)
        return cos * own + sin * other if is_second else cos * own - sin * other
