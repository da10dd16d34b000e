import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    everything = dict(
        width=width, theta=theta, scaling=scaling, factor=factor, original_length=original_length,
        sequence_length=sequence_length, low_frequency_factor=low_frequency_factor,
        high_frequency_factor=high_frequency_factor, short_factors=short_factors, long_factors=long_factors,
        proportion=proportion, beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate,
        magnitude_scaling=magnitude_scaling, magnitude_scaling_all_dimensions=magnitude_scaling_all_dimensions,
        attention_factor=attention_factor)
    if scaling != "proportional":
        return base.rotary_frequencies(**everything)
    base.check_frequencies(everything)
    f = base.powers(theta, width) / (1.0 if factor is None else factor)
    f[round(proportion * (width // 2)) :] = 0
    return base.frequencies_of(f, 1.0)
