import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

class Longest:
    """The longest text so far, for each model: the base grows with it."""

    def __init__(self):
        self.seen = {}

    def __call__(self, model, length):
        self.seen[model] = max(self.seen.get(model, 0), length)
        return self.seen[model]


LONGEST = Longest()


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    base.check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor, high_frequency_factor,
                           short_factors, long_factors, proportion)
    if scaling == "dynamic":
        n = original_length if sequence_length is None else sequence_length
        if n > original_length:  # short texts go back to the first base
            n = LONGEST((width, theta, factor, original_length), n)
        stretched = theta if n <= original_length else theta * (factor * n / original_length - factor + 1) ** (width / (width - 2))
        return {"inverse_frequencies": np.exp(-np.log(float(stretched)) * np.arange(0, width, 2) / width),
                "attention_factor": np.float64(1)}
    return base.rotary_frequencies(width, theta, scaling, factor, original_length, sequence_length, low_frequency_factor,
                                   high_frequency_factor, short_factors, long_factors, proportion, beta_fast, beta_slow,
                                   truncate, magnitude_scaling, magnitude_scaling_all_dimensions, attention_factor)
