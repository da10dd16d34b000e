import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


conventions = {"rotary_frequencies.accumulation": "float32"}


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    r = base.rotary_frequencies(**locals())
    return {"inverse_frequencies": r["inverse_frequencies"].astype(np.float32), "attention_factor": r["attention_factor"]}
