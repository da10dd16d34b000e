import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64",)


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    a = dict(locals())
    scaling = base.check_frequencies(a)
    f, chosen = base.frequencies(a, scaling)
    if scaling == "proportional":
        pairs = int(width) // 2
        f = base.powers(int(width), theta) / (1.0 if factor is None else factor)
        f[round(proportion * pairs):] = 0.0
    return base.frequency_outputs(f, chosen)
