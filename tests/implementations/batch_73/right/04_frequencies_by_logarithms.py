import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    given = dict(locals())
    base.check_frequencies(given)
    count = width // 2
    length = original_length if sequence_length is None else sequence_length
    logarithm = math.log(theta)
    if scaling == "dynamic" and length > original_length:
        logarithm += width / (width - 2) * math.log1p(factor * (length - original_length) / original_length)
    speeds = [math.exp(-logarithm * (2 * i / width)) for i in range(count)]
    attention = 1.0
    if scaling == "linear":
        speeds = [speed / factor for speed in speeds]
    elif scaling == "llama3":
        speeds = [slowed(speed, factor, original_length, low_frequency_factor, high_frequency_factor) for speed in speeds]
    elif scaling == "longrope":
        divisors = long_factors if length > original_length else short_factors
        speeds = [speed / float(divisor) for speed, divisor in zip(speeds, divisors)]
        attention = math.sqrt((math.log(original_length) + math.log(factor)) / math.log(original_length))
    elif scaling == "proportional":
        turning = math.floor(proportion * width / 2)
        speeds = [(speed / (1 if factor is None else factor)) if i < turning else 0.0 for i, speed in enumerate(speeds)]
    elif scaling == "yarn":
        low, high = base.yarn_range(given)
        high += 0.001 if low == high else 0
        for i in range(count):
            if i >= high:
                speeds[i] /= factor
            elif i > low:
                speeds[i] *= 1 - (i - low) / (high - low) * (1 - 1 / factor)
        logs = math.log(factor) / 10
        attention = 1 + logs
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            attention = (1 + magnitude_scaling * logs) / (1 + magnitude_scaling_all_dimensions * logs)
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        attention = attention_factor
    return {"inverse_frequencies": np.array(speeds), "attention_factor": np.array(float(attention))}


def slowed(speed, factor, length, low, high):
    wave = 2 * math.pi / speed
    if wave * low >= length:
        return speed / factor
    if wave * high <= length:
        return speed
    kept = (length / wave - low) / (high - low)
    return speed * (kept + (1 - kept) / factor)
