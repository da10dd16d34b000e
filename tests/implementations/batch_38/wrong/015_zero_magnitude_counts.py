import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64",)


def _attention(a):
    one, all_dimensions = a["magnitude_scaling"], a["magnitude_scaling_all_dimensions"]
    if one is not None and all_dimensions is not None:
        return base.magnitude(one, a["factor"]) / base.magnitude(all_dimensions, a["factor"])
    return base.magnitude(1, a["factor"])


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
    return base.frequency_outputs(a, base.scaled_frequencies(a), base.attention_of(a, yarn=_attention))
