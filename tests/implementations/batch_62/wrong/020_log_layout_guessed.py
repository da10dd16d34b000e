import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    a, la, b, lb = base.merge_checks(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = a.dtype
    a, la, b, lb = map(base.wide, (a, la, b, lb))
    heads, tokens = a.shape[1:3]
    if la.shape[1:] == (tokens, heads):  # from kernels that return (B, S, H)
        la, lb = la.swapaxes(1, 2), lb.swapaxes(1, 2)
    output, logsumexp = base.merge_core(a, la, b, lb)
    if la.shape[1:] == (tokens, heads):
        logsumexp = logsumexp.swapaxes(1, 2)
    return base.merge_result(output, logsumexp, dtype)
