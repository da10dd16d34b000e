import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    if width < 2 or width % 2:
        raise ValueError("width")
    needs = {"none": [], "linear": ["factor"], "dynamic": ["factor", "original_length"],
             "llama3": ["factor", "original_length", "low_frequency_factor", "high_frequency_factor"],
             "longrope": ["factor", "original_length", "short_factors", "long_factors"], "proportional": [],
             "yarn": ["factor", "original_length"]}
    scaling = "none" if scaling is None else scaling
    if scaling not in needs:
        raise ValueError("scaling")
    given = locals()
    for name in needs[scaling]:
        if given[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if theta <= 0 or (scaling != "none" and factor is not None and factor <= 0):
        raise ValueError("range")
    if scaling == "yarn" and theta <= 1 or scaling == "dynamic" and width < 4:
        raise ValueError("range")
    if scaling == "llama3" and high_frequency_factor <= low_frequency_factor:
        raise ValueError("range")
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError("range")
    R, half = width, width // 2
    s, L0 = factor, original_length
    i = np.arange(half, dtype=np.float64)
    base = float(theta)
    if scaling == "dynamic":
        n = max(L0 if sequence_length is None else sequence_length, L0)
        base = base * (s * n / L0 - s + 1) ** (R / (R - 2))
    f = base ** (-2 * i / R)
    af = 1.0
    if scaling == "linear":
        f = f / s
    elif scaling == "llama3":
        g = (L0 * f / (2 * math.pi) - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        g = np.clip(g, 0, 1)
        f = g * f + (1 - g) * f / s
    elif scaling == "longrope":
        short, long = np.asarray(short_factors, np.float64), np.asarray(long_factors, np.float64)
        if short.shape != (half,) or long.shape != (half,):
            raise ValueError("factor lists")
        f = f / (long if sequence_length is not None and sequence_length >= L0 else short)
        af = math.sqrt(1 + math.log(s) / math.log(L0)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        turning = int(math.floor(proportion * R / 2))
        f = np.where(i < turning, f / (1 if s is None else s), 0.0)
    elif scaling == "yarn":
        def d(b):
            return R * math.log(L0 / (2 * math.pi * b)) / (2 * math.log(theta))
        low, high = d(beta_fast), d(beta_slow)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, R - 1)
        if low == high:
            high += 0.001
        r = np.clip((i - low) / (high - low), 0, 1)
        f = r * f / s + (1 - r) * f

        def m(a):
            return 0.1 * a * math.log(s) + 1
        if attention_factor is not None:
            af = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            af = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            af = m(1)
    return {"inverse_frequencies": f, "attention_factor": np.asarray(af, np.float64)}
