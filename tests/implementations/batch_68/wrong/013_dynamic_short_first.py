import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

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
    base.check_needs(scaling, given)
    base.check_theta_and_factor(scaling, theta, factor)
    base.check_turns(scaling, low_frequency_factor, high_frequency_factor)
    base.check_proportion(scaling, proportion)
    base.check_lists(scaling, width, short_factors, long_factors)
    if scaling != "dynamic":
        return base.rotary_frequencies(**given)
    length = original_length if sequence_length is None else sequence_length
    if length <= original_length:  # nothing to stretch
        return base.frequencies_result(base.powers(width, theta), 1.0)
    base.check_dynamic(scaling, width)
    return base.frequencies_result(base.dynamic_frequencies(width, theta, factor, original_length, length), 1.0)
