import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    if output_a.ndim != 4 or output_b.ndim != 4 or logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3:
        raise ValueError("outputs have rank 4 and logarithms rank 3")
    if output_a.shape != output_b.shape:
        raise ValueError("outputs of different shapes")
    rows = output_a.shape[:3]
    if logsumexp_a.size != np.prod(rows) or logsumexp_b.size != np.prod(rows):
        raise ValueError("a logarithm for each row")
    with base.quiet():
        result = base.merge_states(output_a, logsumexp_a.reshape(rows), output_b, logsumexp_b.reshape(rows))
        return result
