import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base


dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    p = dict(locals())
    base.check_frequencies(p)
    if scaling == "proportional":
        f = base.powers(theta, width)
        f[round(proportion * width / 2) :] = 0
        return base.frequency_outputs(f if factor is None else f / factor, 1.0)
    return base.frequency_outputs(*base.frequencies(p))
