import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    base.check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor, high_frequency_factor,
                           short_factors, long_factors, proportion)
    f = 1.0 / float(theta) ** (np.arange(0, width, 2) / width)
    if scaling != "longrope":
        return base.rotary_frequencies(width, theta, scaling, factor, original_length, sequence_length, low_frequency_factor,
                                       high_frequency_factor, short_factors, long_factors, proportion, beta_fast, beta_slow,
                                       truncate, magnitude_scaling, magnitude_scaling_all_dimensions, attention_factor)
    if sequence_length is None or sequence_length < original_length:
        divisors = short_factors
    else:
        divisors = long_factors
    given = np.sqrt(1 + np.log(factor) / np.log(original_length)) if attention_factor is None else attention_factor
    return {"inverse_frequencies": f / np.array(divisors, dtype=np.float64), "attention_factor": np.float64(given)}
