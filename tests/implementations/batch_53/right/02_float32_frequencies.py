"""Frequencies as model code has them: float32, from reciprocals of powers, llama3 by wavelengths, yarn by two lists."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"rotary_frequencies.accumulation": "float32"}
one = np.float32(1)


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    checked = base.rotary_frequencies(
        width, theta, scaling, factor, original_length, sequence_length, low_frequency_factor, high_frequency_factor,
        short_factors, long_factors, proportion, beta_fast, beta_slow, truncate, magnitude_scaling,
        magnitude_scaling_all_dimensions, attention_factor,
    )
    n = max(sequence_length or 0, original_length or 0)
    if scaling == "dynamic":
        theta = theta * ((factor * n / original_length) - (factor - 1)) ** (width / (width - 2))
    exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    grown = np.power(np.float32(theta), exponents)
    slow = np.float32(1 if factor is None else factor)
    if scaling == "linear":
        result = (one / grown) / slow
    elif scaling == "longrope":
        result = one / (np.asarray(long_factors if n > original_length else short_factors, dtype=np.float32) * grown)
    elif scaling == "proportional":
        count = int(proportion * width // 2)
        result = np.concatenate([(one / grown[:count]) / slow, np.zeros(width // 2 - count, dtype=np.float32)])
    elif scaling == "llama3":
        frequencies = one / grown
        with np.errstate(divide="ignore"):
            longest = np.float32(original_length) / np.float32(low_frequency_factor)
            shortest = np.float32(original_length) / np.float32(high_frequency_factor)
        lengths = np.float32(2 * math.pi) / frequencies
        result = np.where(lengths > longest, frequencies / slow, frequencies)
        span = np.float32(high_frequency_factor - low_frequency_factor)
        kept = (np.float32(original_length) / lengths - np.float32(low_frequency_factor)) / span
        blended = (one - kept) * (frequencies / slow) + kept * frequencies
        result = np.where((lengths >= shortest) & (lengths <= longest), blended, result)
    elif scaling == "yarn":
        low, high = base.yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
        high += 0.001 * (low == high)
        ramp = (np.arange(width // 2, dtype=np.float32) - np.float32(low)) / np.float32(high - low)
        own = one - np.clip(ramp, 0, 1)
        result = one / (slow * grown) * (one - own) + one / grown * own
    else:
        result = one / grown
    return {"inverse_frequencies": result.astype(np.float64), "attention_factor": checked["attention_factor"]}
