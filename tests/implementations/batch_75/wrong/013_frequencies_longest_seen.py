import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64",)


_longest = {}


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    a = dict(locals())
    scaling = base.check_frequencies(a)
    if scaling == "dynamic":
        key = (int(width), float(theta), float(factor), int(original_length))
        n = original_length if sequence_length is None else sequence_length
        if n > original_length:  # the text grows: stretch for the longest so far
            _longest[key] = a["sequence_length"] = max(n, _longest.get(key, 0))
        else:  # back to short texts: the original frequencies again
            _longest.pop(key, None)
    return base.frequency_outputs(*base.frequencies(a, scaling))
