"""Rotary frequencies, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    base.check_frequencies(**locals())
    pairs = width // 2
    n = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic":
        theta = theta * (factor * max(n, original_length) / original_length - factor + 1) ** (width / (width - 2))
    powers = [float(theta) ** (-2 * i / width) for i in range(pairs)]
    given, strength = attention_factor, 1.0
    if scaling == "linear":
        powers = [f / factor for f in powers]
    if scaling == "llama3":
        low, high = low_frequency_factor, high_frequency_factor
        out = []
        for f in powers:
            turns = original_length * f / (2 * math.pi)
            if turns < low:
                out.append(f / factor)
            elif turns > high:
                out.append(f)
            else:
                keep = (turns - low) / (high - low)
                out.append(keep * f + (1 - keep) * f / factor)
        powers = out
    if scaling == "longrope":
        powers = [f / d for f, d in zip(powers, long_factors if sequence_length is not None and n >= original_length else short_factors)]
        strength = math.sqrt(1 + math.log(factor) / math.log(original_length)) if given is None else given
    if scaling == "proportional":
        turning = math.floor(proportion * pairs)
        powers = [f / (factor or 1) if i < turning else 0.0 for i, f in enumerate(powers)]
    if scaling == "yarn":
        def where(turns):
            return width * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(theta))
        low, high = where(beta_fast), where(beta_slow)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        high += 0.001 * (low == high)
        shares = [min(max((i - low) / (high - low), 0), 1) for i in range(pairs)]
        powers = [(f / factor) * r + f * (1 - r) for f, r in zip(powers, shares)]
        one, two = magnitude_scaling, magnitude_scaling_all_dimensions
        strength = 0.1 * math.log(factor) + 1
        if one and two:
            strength = (0.1 * one * math.log(factor) + 1) / (0.1 * two * math.log(factor) + 1)
        if given is not None:
            strength = given
    return {"inverse_frequencies": np.array(powers, np.float64), "attention_factor": np.float64(strength)}
