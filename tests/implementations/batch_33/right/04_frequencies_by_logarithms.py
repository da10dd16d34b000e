import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    """Exponentials of logarithms from the last pair to the first; llama3 by wavelengths, blends pair by pair."""
    base.check_frequencies(width, theta, scaling, {
        "factor": factor, "original_length": original_length, "low_frequency_factor": low_frequency_factor,
        "high_frequency_factor": high_frequency_factor, "short_factors": short_factors,
        "long_factors": long_factors, "proportion": proportion})
    length = sequence_length if sequence_length is not None else original_length
    logarithm, given = math.log(theta), None
    if scaling == "dynamic":
        longer = max(length, original_length)
        logarithm += width / (width - 2) * math.log1p(factor * (longer - original_length) / original_length)
    out = np.zeros(width // 2)
    for i in reversed(range(width // 2)):
        f = math.exp(-logarithm * (2 * i / width))
        if scaling == "linear":
            f = f / factor
        elif scaling == "llama3":
            wavelength = 2 * math.pi / f
            if wavelength >= original_length / low_frequency_factor if low_frequency_factor > 0 else False:
                f = f / factor
            elif not wavelength <= original_length / high_frequency_factor:
                g = (original_length / wavelength - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
                f = f * (g + (1 - g) / factor)
        elif scaling == "longrope":
            f = f / float((short_factors if length <= original_length else long_factors)[i])
        elif scaling == "proportional":
            turning = i < math.floor(proportion * (width // 2))
            f = (f if factor is None else f / factor) if turning else 0.0
        elif scaling == "yarn":
            low, high = base.yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate)
            high = high + 0.001 if low == high else high
            share = min(1.0, max(0.0, (i - low) / (high - low)))
            f = f - share * (f - f / factor)
        out[i] = f
    if scaling in ("longrope", "yarn"):
        given = attention_factor
    if given is None and scaling == "longrope":
        given = math.sqrt(math.log(original_length * factor) / math.log(original_length))
    elif given is None and scaling == "yarn":
        numerator, denominator = 1, 0
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            numerator, denominator = magnitude_scaling, magnitude_scaling_all_dimensions
        growth = 0.1 * math.log(factor)
        given = (growth * numerator + 1) / (growth * denominator + 1)
    return {"inverse_frequencies": out, "attention_factor": np.array(float(1 if given is None else given))}
