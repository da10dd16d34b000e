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
    if scaling == "yarn" and attention_factor is None:
        if magnitude_scaling is not None and magnitude_scaling_all_dimensions is not None:
            chosen = (base.magnitude(factor, magnitude_scaling)
                      / base.magnitude(factor, magnitude_scaling_all_dimensions))
        else:
            chosen = base.magnitude(factor)
    return base.frequency_outputs(f, chosen)
