import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import math
from base import check_frequencies

dtypes = ("float64", "float32")



def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    if original_length is None and scaling == "dynamic":
        original_length = sequence_length
    scaling = check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor,
                                high_frequency_factor, short_factors, long_factors, proportion)
    pairs = width // 2
    base, magnitude = float(theta), 1.0
    length = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic" and length > original_length:
        base *= (factor * length / original_length - (factor - 1)) ** (width / (width - 2))
    inv_freq = [1.0 / base ** (2 * i / width) for i in range(pairs)]
    if scaling == "linear":
        inv_freq = [f / factor for f in inv_freq]
    elif scaling == "llama3":
        scaled = []
        for f in inv_freq:
            turns = original_length * f / (2 * math.pi)
            if turns <= low_frequency_factor:
                scaled.append(f / factor)
            elif turns >= high_frequency_factor:
                scaled.append(f)
            else:
                smooth = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
                scaled.append((1 - smooth) * f / factor + smooth * f)
        inv_freq = scaled
    elif scaling == "longrope":
        chosen = long_factors if length > original_length else short_factors
        inv_freq = [f / d for f, d in zip(inv_freq, chosen)]
        magnitude = math.sqrt(1 + math.log(factor) / math.log(original_length))
    elif scaling == "proportional":
        turning = int(proportion * width // 2)
        inv_freq = [f / (factor or 1) if i < turning else 0.0 for i, f in enumerate(inv_freq)]
    elif scaling == "yarn":
        low, high = (width * math.log(original_length / (2 * math.pi * b)) / (2 * math.log(base))
                     for b in (beta_fast, beta_slow))
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        blended = []
        for i, f in enumerate(inv_freq):
            ramp = min(max((i - low) / (high - low), 0.0), 1.0)
            blended.append(ramp * f / factor + (1 - ramp) * f)
        inv_freq = blended
        magnitude = 0.1 * math.log(factor) + 1
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            magnitude = (0.1 * magnitude_scaling * math.log(factor) + 1) / (
                0.1 * magnitude_scaling_all_dimensions * math.log(factor) + 1)
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        magnitude = attention_factor
    return {"inverse_frequencies": np.array(inv_freq), "attention_factor": np.float64(magnitude)}
