import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    """Everything in logarithms to the base 2, pair by pair, from the slowest to the fastest."""
    base.check_frequencies(dict(
        width=width, theta=theta, scaling=scaling, factor=factor, original_length=original_length,
        sequence_length=sequence_length, low_frequency_factor=low_frequency_factor,
        high_frequency_factor=high_frequency_factor, short_factors=short_factors, long_factors=long_factors,
        proportion=proportion, beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate,
        magnitude_scaling=magnitude_scaling, magnitude_scaling_all_dimensions=magnitude_scaling_all_dimensions,
        attention_factor=attention_factor))
    pairs, l0 = width // 2, original_length
    exponent = math.log2(theta)
    if scaling == "dynamic" and sequence_length is not None and sequence_length > l0:
        exponent += math.log2(1 + factor * (sequence_length - l0) / l0) * width / (width - 2)
    found = np.zeros(pairs)
    if scaling == "yarn":
        slope = width / (2 * exponent)
        low = slope * (math.log2(l0) - math.log2(2 * math.pi * beta_fast))
        high = slope * (math.log2(l0) - math.log2(2 * math.pi * beta_slow))
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
    for i in reversed(range(pairs)):
        f = 2.0 ** (-exponent * i / pairs)
        if scaling == "linear":
            f /= factor
        elif scaling == "llama3":
            turns = l0 * f / (2 * math.pi)
            if turns <= low_frequency_factor:
                f /= factor
            elif turns < high_frequency_factor:
                kept = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
                f *= kept + (1 - kept) / factor
        elif scaling == "longrope":
            beyond = sequence_length is not None and sequence_length > l0
            f /= float((long_factors if beyond else short_factors)[i])
        elif scaling == "proportional":
            f = (f if factor is None else f / factor) if i < math.floor(proportion * pairs) else 0.0
        elif scaling == "yarn":
            divided = min(max((i - low) / (high - low), 0.0), 1.0)
            f *= divided / factor + (1 - divided)
        found[i] = f
    m = 1.0
    if scaling in ("longrope", "yarn"):
        m = attention_factor
        if m is None and scaling == "longrope":
            m = math.sqrt(math.log(factor * l0) / math.log(l0))
        elif m is None:
            both = magnitude_scaling and magnitude_scaling_all_dimensions
            a, b = (magnitude_scaling, magnitude_scaling_all_dimensions) if both else (1, 0)
            m = (10 + a * math.log(factor)) / (10 + b * math.log(factor))
    return {"inverse_frequencies": found, "attention_factor": np.asarray(m, dtype=np.float64)}
