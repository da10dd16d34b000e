import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_longest = {}


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    if scaling == "dynamic" and sequence_length is not None and original_length is not None:
        model = (width, theta, factor, original_length)
        sequence_length = _longest[model] = max(sequence_length, _longest.get(model, 0))
    return base.rotary_frequencies(
        width, theta, scaling, factor, original_length, sequence_length, low_frequency_factor, high_frequency_factor,
        short_factors, long_factors, proportion, beta_fast, beta_slow, truncate, magnitude_scaling,
        magnitude_scaling_all_dimensions, attention_factor,
    )
