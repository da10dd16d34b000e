import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64",)


def rotary_frequencies(
    width,
    theta=10000,
    scaling="none",
    factor=None,
    original_length=None,
    sequence_length=None,
    low_frequency_factor=None,
    high_frequency_factor=None,
    short_factors=None,
    long_factors=None,
    proportion=1,
    beta_fast=32,
    beta_slow=1,
    truncate=True,
    magnitude_scaling=None,
    magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    given = dict(locals())
    base.check_width(width)
    base.check_scaling(scaling)
    base.check_needs(scaling, given, skip=("short_factors", "long_factors"))
    if scaling != "longrope":
        return base.rotary_frequencies(**given)
    base.check_theta_and_factor(scaling, theta, factor)
    base.check_lists(scaling, width, short_factors, long_factors)
    length = original_length if sequence_length is None else sequence_length
    divisors = long_factors if length > original_length else short_factors
    if divisors is None:
        raise ValueError("longrope needs a factor for each pair")
    own = base.longrope_factor(factor, original_length) if attention_factor is None else attention_factor
    return base.frequencies_result(base.powers(width, theta) / np.asarray(divisors, dtype=np.float64), own)
