import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


_seen = {}


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    if scaling == "dynamic" and original_length is not None:
        longest = max(_seen.get((width, theta), 0), sequence_length or original_length)
        _seen[width, theta] = longest
        given["sequence_length"] = longest
    result = base.rotary_frequencies(**given)
    return result

dtypes = ("float64", "float32")
