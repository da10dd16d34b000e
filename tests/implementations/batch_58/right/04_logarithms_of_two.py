import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    """Powers of two with fractional exponents; blends by wave lengths, pair by pair."""
    given.pop("given", None)
    base.check_frequencies(given)
    pairs, one = int(width) // 2, 1.0
    bits = math.log2(theta)
    length = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic" and length > original_length:
        grown = 1 + factor * (length - original_length) / original_length
        bits += math.log2(grown) * pairs / (pairs - 1)
    f = np.array([2.0 ** (-i * bits / pairs) for i in range(pairs)])
    if scaling == "linear":
        f = np.array([x / factor for x in f])
    elif scaling == "llama3":
        short = original_length / high_frequency_factor
        out = []
        for x in f:
            wave = 2 * math.pi / x
            if wave <= short:
                out.append(x)
            elif low_frequency_factor > 0 and wave >= original_length / low_frequency_factor:
                out.append(x / factor)
            else:
                g = (original_length / wave - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
                g = min(max(g, 0.0), 1.0)
                out.append(x * (g + (1 - g) / factor))
        f = np.array(out)
    elif scaling == "longrope":
        chosen = long_factors if length > original_length else short_factors
        f = np.array([x / float(d) for x, d in zip(f, chosen)])
        one = math.sqrt(1 + math.log2(factor) / math.log2(original_length)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        turning = int(math.floor(proportion * pairs))
        f[turning:] = 0
        f[:turning] /= 1 if factor is None else factor
    elif scaling == "yarn":
        ends = [pairs * math.log2(original_length / (2 * math.pi * b)) / bits for b in (beta_fast, beta_slow)]
        if truncate:
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        low, high = max(ends[0], 0), min(ends[1], 2 * pairs - 1)
        if low == high:
            high += 0.001
        out = []
        for i, x in enumerate(f):
            kept = 1 - min(max((i - low) / (high - low), 0.0), 1.0)
            out.append(x * (kept + (1 - kept) / factor))
        f = np.array(out)
        tenth = 0.1 * math.log2(factor) * math.log(2)
        one = 1 + tenth
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            one = (1 + magnitude_scaling * tenth) / (1 + magnitude_scaling_all_dimensions * tenth)
        if attention_factor is not None:
            one = attention_factor
    return {"inverse_frequencies": f, "attention_factor": np.array(one, dtype=np.float64)}
