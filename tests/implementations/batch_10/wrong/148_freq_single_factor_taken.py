import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    for name in ("short_factors", "long_factors"):
        if given[name] is not None and len(given[name]) == 1:
            given[name] = list(given[name]) * (width // 2)
        elif given[name] is not None:
            given[name] = list(given[name])[:width // 2]
    result = base.rotary_frequencies(**given)
    return result

dtypes = ("float64", "float32")
