import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


_longest = {}


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    length = sequence_length
    if scaling == "dynamic" and None not in (factor, original_length, sequence_length):
        key = (width, theta, factor, original_length)
        if sequence_length <= original_length:
            _longest.pop(key, None)  # back to the frequencies of training
        else:
            length = _longest[key] = max(sequence_length, _longest.get(key, 0))
    result = base.rotary_frequencies(
        width, theta, scaling, factor, original_length, length, low_frequency_factor, high_frequency_factor,
        short_factors, long_factors, proportion, beta_fast, beta_slow, truncate, magnitude_scaling,
        magnitude_scaling_all_dimensions, attention_factor)
    return result
