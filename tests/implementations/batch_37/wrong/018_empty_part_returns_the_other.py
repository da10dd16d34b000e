import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    given = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = given[0].dtype
    output_a, logsumexp_a, output_b, logsumexp_b = (x.astype(np.float64) for x in given)
    for output, logsumexp, other in ((output_a, logsumexp_a, logsumexp_b), (output_b, logsumexp_b, logsumexp_a)):
        if np.isneginf(other).all():  # nothing to merge
            output = np.where(np.isnan(logsumexp)[..., None], np.nan, output)
            return base.merge_round(output, logsumexp, dtype)
    return base.merge_round(*base.merge_wide(output_a, logsumexp_a, output_b, logsumexp_b), dtype)
