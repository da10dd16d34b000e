import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64",)


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    a = dict(locals())
    scaling = base.check_frequencies(a)
    f, chosen = base.frequencies(a, scaling)
    if scaling == "llama3" and low_frequency_factor > 0:
        plain = base.powers(int(width), theta)
        waves = 2 * np.pi / plain
        longest, shortest = original_length / low_frequency_factor, original_length / high_frequency_factor
        kept = (longest - waves) / (longest - shortest)
        blended = kept * plain + (1 - kept) * plain / factor
        f = np.where(waves > longest, plain / factor, np.where(waves < shortest, plain, blended))
    return base.frequency_outputs(f, chosen)
