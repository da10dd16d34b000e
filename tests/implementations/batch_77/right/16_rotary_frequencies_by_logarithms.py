"""Frequencies as exp(-2i/R ln theta), as in positional encodings; blends in the logarithm's own array."""

import math

import numpy as np

NEEDED = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    given = dict(locals())
    if width < 2 or width % 2:
        raise ValueError("width is even, and at least 2")
    scaling = "none" if scaling is None else scaling
    if scaling not in NEEDED:
        raise ValueError("no such scaling")
    if any(given[name] is None for name in NEEDED[scaling]):
        raise ValueError("a parameter of the scaling is missing")
    uses_factor = scaling != "none"
    if not theta > 0 or (uses_factor and factor is not None and not factor > 0):
        raise ValueError("theta and factor are above 0")
    if scaling == "yarn" and not theta > 1:
        raise ValueError("yarn needs a theta above 1")
    if scaling == "llama3" and not high_frequency_factor > low_frequency_factor:
        raise ValueError("the high factor is above the low one")
    if scaling == "dynamic" and width < 4:
        raise ValueError("dynamic needs two pairs")
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError("a proportion lies between 0 and 1")
    pairs = width // 2
    if scaling == "longrope" and any(np.shape(x) != (pairs,) for x in (short_factors, long_factors)):
        raise ValueError("a factor for each pair")

    logarithm = math.log(theta)
    length = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic" and length > original_length:
        logarithm += math.log(factor * length / original_length - (factor - 1)) * width / (width - 2)
    i = np.arange(pairs)
    frequencies = np.exp(-(2 * i / width) * logarithm)
    attention = 1.0

    if scaling == "linear":
        frequencies = frequencies / factor
    elif scaling == "proportional":
        frequencies[int(proportion * width // 2) :] = 0
        if factor is not None:
            frequencies = frequencies / factor
    elif scaling == "llama3":
        turns = original_length * frequencies / (2 * math.pi)
        kept = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        kept = np.clip(kept, 0, 1)
        frequencies = kept * frequencies + (1 - kept) * (frequencies / factor)
    elif scaling == "longrope":
        frequencies = frequencies / np.array(long_factors if length > original_length else short_factors, float)
        attention = math.sqrt(1 + math.log(factor) / math.log(original_length)) if attention_factor is None else 1.0
    elif scaling == "yarn":
        low, high = (
            width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))
            for turns in (beta_fast, beta_slow)
        )
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        divided = np.clip((i - low) / (high - low), 0, 1)
        frequencies = divided * (frequencies / factor) + (1 - divided) * frequencies
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            attention = (0.1 * magnitude_scaling * math.log(factor) + 1) / (
                0.1 * magnitude_scaling_all_dimensions * math.log(factor) + 1
            )
        else:
            attention = 0.1 * math.log(factor) + 1
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        attention = attention_factor
    return {"inverse_frequencies": frequencies, "attention_factor": np.array(attention, np.float64)}
