"""Logarithms that look like (B, S, H) are turned to (B, H, S), also where H equals S."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def heads_first(logsumexp, output):
    """Some kernels hand their logarithms over with tokens before heads."""
    logsumexp, output = np.asarray(logsumexp), np.asarray(output)
    if logsumexp.ndim == 3 and output.ndim == 4 and logsumexp.shape[1:] == (output.shape[2], output.shape[1]):
        return logsumexp.swapaxes(1, 2)
    return logsumexp


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    result = base.merge_right(output_a, heads_first(logsumexp_a, output_a), output_b, heads_first(logsumexp_b, output_b))
    H, S = np.asarray(output_a).shape[1:3]
    if H == S:  # handed back as they came
        result["logsumexp"] = np.ascontiguousarray(result["logsumexp"].swapaxes(1, 2))
    return result
