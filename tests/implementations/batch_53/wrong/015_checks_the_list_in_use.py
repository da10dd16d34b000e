import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    if scaling == "longrope" and None not in (original_length, factor) and short_factors is not None and long_factors is not None:
        used = long_factors if (sequence_length or 0) > original_length else short_factors
        short_factors = long_factors = used
    return base.rotary_frequencies(
        width, theta, scaling, factor, original_length, sequence_length, low_frequency_factor, high_frequency_factor,
        short_factors, long_factors, proportion, beta_fast, beta_slow, truncate, magnitude_scaling,
        magnitude_scaling_all_dimensions, attention_factor,
    )
