import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

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
    """Frequencies are powers of two, blends are read from a broken line, places from logarithms to the base of two."""
    given = dict(locals())
    base.check_width(width)
    base.check_scaling(scaling)
    base.check_needs(scaling, given)
    base.check_theta_and_factor(scaling, theta, factor)
    base.check_turns(scaling, low_frequency_factor, high_frequency_factor)
    base.check_dynamic(scaling, width)
    base.check_proportion(scaling, proportion)
    base.check_lists(scaling, width, short_factors, long_factors)
    length = original_length if sequence_length is None else sequence_length
    bits = math.log2(theta)
    if scaling == "dynamic" and length > original_length:
        bits += width / (width - 2) * math.log2(1 + factor * (length - original_length) / original_length)
    pairs = np.arange(width // 2)
    plain = np.exp2(pairs * (-2 * bits / width))
    own = 1.0
    if scaling == "linear":
        plain = plain * (1 / factor)
    elif scaling == "llama3":
        turns = original_length / (2 * math.pi / plain)
        plain = plain * np.interp(turns, [low_frequency_factor, high_frequency_factor], [1 / factor, 1])
    elif scaling == "longrope":
        divisors = np.array(long_factors if length > original_length else short_factors, dtype=np.float64)
        plain = 1 / (divisors * np.exp2(pairs * (2 * bits / width)))
        own = math.sqrt(math.log(original_length * factor, original_length)) if factor != 1 else 1.0
    elif scaling == "proportional":
        plain = np.where(pairs < math.floor(proportion * (width // 2)), plain / (factor or 1), 0)
    elif scaling == "yarn":
        low, high = (width / 2 * math.log2(original_length / (2 * math.pi * turns)) / bits for turns in (beta_fast, beta_slow))
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        plain = plain * np.interp(pairs, [low, high + 0.001 * (low == high)], [1, 1 / factor])
        grown = math.log(factor) / 10
        both = magnitude_scaling and magnitude_scaling_all_dimensions
        own = (1 + magnitude_scaling * grown) / (1 + magnitude_scaling_all_dimensions * grown) if both else 1 + grown
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        own = attention_factor
    return base.frequencies_result(plain, own)
