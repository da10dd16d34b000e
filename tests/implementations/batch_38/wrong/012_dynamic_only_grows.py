import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64",)


_longest = {}


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
    if scaling == "dynamic":
        key = (width, theta, factor, original_length)
        if sequence_length is None or sequence_length <= original_length:
            _longest.pop(key, None)  # back to the original frequencies
        else:
            _longest[key] = max(_longest.get(key, 0), sequence_length)
            a["sequence_length"] = _longest[key]
    return base.frequency_outputs(a, base.scaled_frequencies(a), base.attention_of(a))
