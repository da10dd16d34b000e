import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    given = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    output_a, logsumexp_a, output_b, logsumexp_b = (x.astype(np.float64) for x in given)
    empty = -1e30
    logsumexp_a = np.where(logsumexp_a <= empty, -np.inf, logsumexp_a)
    logsumexp_b = np.where(logsumexp_b <= empty, -np.inf, logsumexp_b)
    return base.merge_round(*base.merge_wide(output_a, logsumexp_a, output_b, logsumexp_b), given[0].dtype)
