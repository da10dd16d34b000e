import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32")
import math


def attention(factor, *coefficients):
    if all(a is not None for a in coefficients):
        over, under = (0.1 * a * math.log(factor) + 1 for a in coefficients)
        return over / under
    return 0.1 * math.log(factor) + 1


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None, low_frequency_factor=None,
    high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1, beta_fast=32, beta_slow=1, truncate=True,
    magnitude_scaling=None, magnitude_scaling_all_dimensions=None, attention_factor=None,
):
    base.check_frequencies(width, theta, scaling, locals())
    n = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic":
        return base.result(base.powers(width, theta * (factor * max(n, original_length) / original_length - factor + 1) ** (width / (width - 2))))
    f = base.powers(width, theta)
    if scaling == "linear":
        return base.result(f / factor)
    if scaling == "llama3":
        return base.result(base.llama3(f, factor, original_length, low_frequency_factor, high_frequency_factor))
    if scaling == "longrope":
        f = f / np.asarray(long_factors if n > original_length else short_factors, np.float64)
        return base.result(f, base.longrope_factor(factor, original_length) if attention_factor is None else attention_factor)
    if scaling == "proportional":
        f = f / (1 if factor is None else factor)
        f[math.floor(proportion * width / 2) :] = 0
        return base.result(f)
    if scaling == "yarn":
        low, high = base.yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        if attention_factor is None:
            attention_factor = attention(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
        return base.result(base.yarn_blend(f, low, high, factor), attention_factor)
    return base.result(f)
