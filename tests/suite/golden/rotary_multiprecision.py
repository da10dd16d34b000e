"""The operations of rotary positions with as many decimal digits as one likes, written from their pages."""

import math
from fractions import Fraction

import mpmath
from multiprecision import Evaluation, many_digits


class RotaryFrequencies(Evaluation):
    operation = "rotary_frequencies"

    def stated(self, name, default=None):
        value = self.attributes.get(name)
        return default if value is None else value

    def inverse_frequencies(self, index, number):
        if number is not many_digits:
            return None
        return self.scaled(index[0], self.stated("scaling", "none"))

    def scaled(self, i, scaling):
        s = mpmath.mpf(self.stated("factor", 1.0))
        power = self.power(i, scaling, s)
        if scaling == "linear":
            return power / s
        if scaling == "llama3":
            waves = self.original * power / (2 * mpmath.pi)
            low, high = self.stated("low_frequency_factor"), self.stated("high_frequency_factor")
            if waves <= low:
                return power / s
            kept = (waves - low) / (mpmath.mpf(high) - low)
            return power if waves >= high else kept * power + (1 - kept) * power / s
        if scaling == "longrope":
            long = self.stated("sequence_length", 0) > self.original
            return power / mpmath.mpf(self.stated("long_factors" if long else "short_factors")[i])
        if scaling == "proportional":
            turning = Fraction(self.stated("proportion", 1.0)) * self.attributes["width"] / 2
            return power / s if i < math.floor(turning) else mpmath.mpf(0)
        if scaling == "yarn":
            share = self.share(i)
            return share * power / s + (1 - share) * power
        return power

    @property
    def original(self):
        return self.stated("original_length")

    def power(self, i, scaling, s):
        width, base = self.attributes["width"], mpmath.mpf(self.stated("theta", 10000.0))
        if scaling == "dynamic":
            length = max(self.original, self.stated("sequence_length", 0))
            base *= (s * length / self.original - s + 1) ** (mpmath.mpf(width) / (width - 2))
        return base ** (-2 * mpmath.mpf(i) / width)

    def share(self, i):
        fast, slow = self.stated("beta_fast", 32.0), self.stated("beta_slow", 1.0)
        low, high = self.pair(fast), self.pair(slow)
        if self.stated("truncate", True):
            low, high = mpmath.floor(low), mpmath.ceil(high)
        low, high = max(low, mpmath.mpf(0)), min(high, mpmath.mpf(self.attributes["width"] - 1))
        if low == high:
            high += mpmath.mpf(1) / 1000
        return min(max((i - low) / (high - low), mpmath.mpf(0)), mpmath.mpf(1))

    def pair(self, turns):
        theta = mpmath.mpf(self.stated("theta", 10000.0))
        turning = self.original / (2 * mpmath.pi * mpmath.mpf(turns))
        return self.attributes["width"] * mpmath.log(turning) / (2 * mpmath.log(theta))

    def attention_factor(self, index, number):
        if number is not many_digits:
            return None
        scaling, s = self.stated("scaling", "none"), mpmath.mpf(self.stated("factor", 1.0))
        if scaling not in ("longrope", "yarn"):
            return mpmath.mpf(1)
        if self.stated("attention_factor") is not None:
            return mpmath.mpf(self.stated("attention_factor"))
        if scaling == "longrope":
            return mpmath.sqrt(1 + mpmath.log(s) / mpmath.log(self.original))
        upper, lower = self.stated("magnitude_scaling", 0), self.stated("magnitude_scaling_all_dimensions", 0)
        tenth = mpmath.log(s) / 10
        if upper and lower:
            return (upper * tenth + 1) / (lower * tenth + 1)
        return tenth + 1


class RotaryTables(Evaluation):
    operation = "rotary_tables"

    def phase(self, index):
        entry, token, pair = index
        return int(self.inputs.position_ids[entry, token]) * many_digits(self.inputs.inverse_frequencies[pair])

    def times(self, function, index):
        return mpmath.mpf(self.attributes.get("attention_factor", 1.0)) * function(self.phase(index))

    def cos(self, index, number):
        return self.times(mpmath.cos, index) if number is many_digits else None

    def sin(self, index, number):
        if self.phase(index) == 0:
            return number(0)
        return self.times(mpmath.sin, index) if number is many_digits else None


class ApplyRotary(Evaluation):
    operation = "apply_rotary"

    def output(self, index, number):
        entry, head, token, feature = index
        pairs = self.inputs.cos.shape[-1]
        own = number(self.inputs.x[index])
        if feature >= 2 * pairs:
            return own
        if self.attributes.get("pairing") == "interleaved":
            pair, is_second = divmod(feature, 2)
            partner = feature - 1 if is_second else feature + 1
        else:
            is_second, pair = divmod(feature, pairs)
            partner = pair if is_second else feature + pairs
        other = number(self.inputs.x[entry, head, token, partner])
        cos, sin = (number(table[entry, token, pair]) for table in (self.inputs.cos, self.inputs.sin))
        return cos * own + sin * other if is_second else cos * own - sin * other
