import math
import numpy as np


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    scaling = "none" if scaling is None else scaling
    if width < 2 or width % 2 or theta <= 0:
        raise ValueError("width or theta")
    if scaling not in ("none", "linear", "yarn"):
        raise (NotImplementedError if scaling in ("dynamic", "llama3", "longrope", "proportional") else ValueError)(scaling)
    pairs = np.arange(width // 2)
    freqs = np.power(float(theta), -2.0 * pairs / width)
    if scaling == "none":
        return {"inverse_frequencies": freqs, "attention_factor": np.float64(1)}
    if factor is None or factor <= 0:
        raise ValueError("factor")
    if scaling == "linear":
        return {"inverse_frequencies": freqs / factor, "attention_factor": np.float64(1)}
    if original_length is None or theta <= 1:
        raise ValueError("yarn")
    find = lambda turns: (width * math.log(original_length / (turns * 2 * math.pi))) / (2 * math.log(theta))
    low, high = find(beta_fast), find(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width // 2 - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((pairs - low) / (high - low), 0, 1)
    mscale = lambda m: 0.1 * m * math.log(factor) + 1
    if attention_factor is None:
        both = magnitude_scaling and magnitude_scaling_all_dimensions
        attention_factor = mscale(magnitude_scaling) / mscale(magnitude_scaling_all_dimensions) if both else mscale(1)
    return {"inverse_frequencies": freqs / factor * ramp + freqs * (1 - ramp), "attention_factor": np.float64(attention_factor)}

dtypes = ("float64", "float32")
