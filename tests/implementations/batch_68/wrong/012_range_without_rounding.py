import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

dtypes = ("float64",)


def range_of(width, theta, original_length, beta_fast, beta_slow, truncate):
    low = base.yarn_place(beta_fast, width, theta, original_length)
    high = base.yarn_place(beta_slow, width, theta, original_length)
    if truncate:
        low, high = max(math.floor(low), 0), min(math.ceil(high), width - 1)
    return low, high + 0.001 if low == high else high


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
    base.check_needs(scaling, given)
    base.check_theta_and_factor(scaling, theta, factor)
    base.check_turns(scaling, low_frequency_factor, high_frequency_factor)
    base.check_dynamic(scaling, width)
    base.check_proportion(scaling, proportion)
    base.check_lists(scaling, width, short_factors, long_factors)
    if scaling != "yarn":
        return base.rotary_frequencies(**given)
    low, high = range_of(width, theta, original_length, beta_fast, beta_slow, truncate)
    own = base.rotary_frequencies(**given)["attention_factor"]
    return base.frequencies_result(base.yarn_frequencies(width, theta, factor, low, high), own)
