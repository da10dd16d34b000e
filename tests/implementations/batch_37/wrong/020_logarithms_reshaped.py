import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    if logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3:
        raise ValueError("logarithms must have rank 3")
    if output_a.ndim != 4 or output_a.shape != output_b.shape:
        raise ValueError("outputs must have rank 4 and one shape")
    rows = output_a.shape[:3]
    logsumexp_a, logsumexp_b = logsumexp_a.reshape(rows), logsumexp_b.reshape(rows)  # raises where the count differs
    wide = (x.astype(np.float64) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
    return base.merge_round(*base.merge_wide(*wide), output_a.dtype)
