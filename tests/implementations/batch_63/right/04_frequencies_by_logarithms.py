import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    p = dict(locals())
    base.check_frequencies(p)
    logarithm = math.log2(theta)
    if scaling == "dynamic":
        n = original_length if sequence_length is None else max(sequence_length, original_length)
        logarithm += width / (width - 2) * math.log1p(factor * (n - original_length) / original_length) / math.log(2)
    f = [2.0 ** (-2 * i * logarithm / width) for i in range(width // 2)]
    attention = 1.0
    if scaling == "linear":
        f = [each / factor for each in f]
    elif scaling == "llama3":
        f = [_llama3(each, p) for each in f]
    elif scaling == "longrope":
        long = sequence_length is not None and sequence_length > original_length
        divisors = long_factors if long else short_factors
        f, attention = [each / float(by) for each, by in zip(f, divisors)], base.longrope_factor(p)
    elif scaling == "proportional":
        kept = math.floor(proportion * (width // 2))
        f = [each / (1 if factor is None else factor) if i < kept else 0.0 for i, each in enumerate(f)]
    elif scaling == "yarn":
        low, high = base.yarn_range(p)
        shares = [min(max((i - low) / (high - low), 0.0), 1.0) for i in range(width // 2)]
        f, attention = [each * (1 - r * (1 - 1 / factor)) for each, r in zip(f, shares)], base.yarn_factor(p)
    return base.frequency_outputs(np.array(f), attention)


def _llama3(f, p):
    length = 2 * math.pi / f
    if length < p["original_length"] / p["high_frequency_factor"]:
        return f
    if p["low_frequency_factor"] * length > p["original_length"]:
        return f / p["factor"]
    g = (p["original_length"] / length - p["low_frequency_factor"]) / (p["high_frequency_factor"] - p["low_frequency_factor"])
    return f / p["factor"] + g * (f - f / p["factor"])
