import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def axes(array):
    """From the axis with the largest stride to that with the smallest."""
    return tuple(sorted(range(4), key=lambda a: (-abs(array.strides[a]), a)))

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        result = base.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        order = axes(output_a)
        if order == (0, 1, 2, 3):
            return result
        # rows are walked as they lie in memory, without a copy
        other = output_b.transpose(axes(output_b)).reshape(-1)
        other = other.reshape([output_a.shape[a] for a in order]).transpose(np.argsort(order))
        return base.merge_states(output_a, logsumexp_a, other, logsumexp_b)
