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
    result = base.rotary_frequencies(**given)
    if scaling == "yarn" and magnitude_scaling and magnitude_scaling_all_dimensions:
        own = base.yarn_factor(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
        return base.frequencies_result(result["inverse_frequencies"], own)
    return result
