import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math

dtypes = ("float64",)


def _limits(a):
    if a["truncate"]:
        return base.yarn_range(a)

    def turns(b):
        return a["width"] * math.log(a["original_length"] / (2 * math.pi * b)) / (2 * math.log(a["theta"]))

    low, high = turns(a["beta_fast"]), turns(a["beta_slow"])
    return (low, high + 0.001) if low == high else (low, high)


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
    a = dict(locals())
    base.check_frequencies(a)
    return base.frequency_outputs(a, base.scaled_frequencies(a, limits=_limits), base.attention_of(a))
