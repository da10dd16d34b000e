import math

import numpy as np

PARAMETERS = {"none": [], "linear": ["factor"], "dynamic": ["factor", "original_length"],
              "llama3": ["factor", "original_length", "low_frequency_factor", "high_frequency_factor"],
              "longrope": ["factor", "original_length", "short_factors", "long_factors"], "proportional": [],
              "yarn": ["factor", "original_length"]}


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    if width < 2 or width % 2:
        raise ValueError("width must be even")
    if scaling is None:
        scaling = "none"
    if scaling not in PARAMETERS:
        raise ValueError("unknown scaling")
    missing = [name for name in PARAMETERS[scaling] if given[name] is None]
    if missing:
        raise ValueError(f"missing {missing}")
    if theta <= 0 or (scaling != "none" and factor is not None and factor <= 0):
        raise ValueError("range")
    pairs = width // 2
    if scaling == "dynamic":
        if width < 4:
            raise ValueError("width")
        n = max(original_length, sequence_length or 0)
        theta = theta * (factor * n / original_length - (factor - 1)) ** (width / (width - 2))
    frequencies = [theta ** (-2 * i / width) for i in range(pairs)]
    magnitude = 1.0
    if scaling == "linear":
        frequencies = [f / factor for f in frequencies]
    if scaling == "llama3":
        low, high = low_frequency_factor, high_frequency_factor
        if high <= low:
            raise ValueError("low and high")
        blended = []
        for f in frequencies:
            turns = original_length * f / (2 * math.pi)
            kept = min(max((turns - low) / (high - low), 0.0), 1.0)
            blended.append(kept * f + (1 - kept) * f / factor)
        frequencies = blended
    if scaling == "longrope":
        if len(short_factors) != pairs or len(long_factors) != pairs:
            raise ValueError("factors")
        long = sequence_length is not None and sequence_length >= original_length
        frequencies = [f / d for f, d in zip(frequencies, long_factors if long else short_factors)]
        magnitude = math.sqrt(1 + math.log(factor) / math.log(original_length))
    if scaling == "proportional":
        if not 0 <= proportion <= 1:
            raise ValueError("proportion")
        turning = math.floor(proportion * pairs)
        frequencies = [f / (factor or 1) if i < turning else 0.0 for i, f in enumerate(frequencies)]
    if scaling == "yarn":
        if theta <= 1:
            raise ValueError("theta")
        low = width * math.log(original_length / (2 * math.pi * beta_fast)) / (2 * math.log(theta))
        high = width * math.log(original_length / (2 * math.pi * beta_slow)) / (2 * math.log(theta))
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        blended = []
        for i, f in enumerate(frequencies):
            slow = min(max((i - low) / (high - low), 0.0), 1.0)
            blended.append(slow * f / factor + (1 - slow) * f)
        frequencies = blended
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            magnitude = ((0.1 * magnitude_scaling * math.log(factor) + 1)
                         / (0.1 * magnitude_scaling_all_dimensions * math.log(factor) + 1))
        else:
            magnitude = 0.1 * math.log(factor) + 1
    if attention_factor is not None and scaling in ("longrope", "yarn"):
        magnitude = float(attention_factor)
    return {"inverse_frequencies": np.array(frequencies), "attention_factor": np.array(magnitude)}

dtypes = ("float64", "float32")
