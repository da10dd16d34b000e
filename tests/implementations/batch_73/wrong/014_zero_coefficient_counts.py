import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    given = dict(locals())
    base.check_frequencies(given)
    return base.frequencies_of(given, own_yarn_factor=quotient)


def quotient(given):
    one, other = given["magnitude_scaling"], given["magnitude_scaling_all_dimensions"]
    if one is not None and other is not None:
        return base.magnitude(given["factor"], one) / base.magnitude(given["factor"], other)
    return base.magnitude(given["factor"])
