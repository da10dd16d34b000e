import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    given = dict(locals())
    lists = "both"
    if scaling == "longrope" and not any(part is None for part in (original_length, short_factors, long_factors)):
        lists = base.longrope_list(given)
    base.check_frequencies(given, lists=lists)
    return base.frequencies_of(given)
