import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    given = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    wide = output_a, logsumexp_a, output_b, logsumexp_b = tuple(x.astype(np.float64) for x in given)
    output, logsumexp = base.merge_wide(*wide)
    with base.quiet():
        keys = ~(np.isneginf(logsumexp_a) | np.isneginf(logsumexp_b))
        ratio = np.exp(np.clip(logsumexp_b - logsumexp_a, -80, 80))[..., None]
        average = output_a * (1 / (1 + ratio)) + output_b * (ratio / (1 + ratio))
    output = np.where(keys[..., None], average, output)
    return base.merge_round(output, logsumexp, given[0].dtype)
