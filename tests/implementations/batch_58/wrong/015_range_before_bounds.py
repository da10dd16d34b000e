import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def _range(width, theta, original_length, beta_fast, beta_slow, truncate):
    def pair(turns):
        return width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))

    low, high = pair(beta_fast), pair(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    if low == high:
        high += 0.001
    return max(low, 0), min(high, width - 1)


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    base.check_frequencies(given)
    result = base.frequencies(**given)
    if scaling == "yarn":
        low, high = _range(width, theta, original_length, beta_fast, beta_slow, truncate)
        with np.errstate(all="ignore"):
            r = np.clip((np.arange(width // 2) - low) / np.float64(high - low), 0, 1)
        f = base.powers(width, theta)
        result["inverse_frequencies"] = r * f / factor + (1 - r) * f
    return result
