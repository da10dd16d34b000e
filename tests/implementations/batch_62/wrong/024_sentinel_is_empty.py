import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    a, la, b, lb = base.merge_checks(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = a.dtype
    a, la, b, lb = map(base.wide, (a, la, b, lb))
    la = np.where(la <= -1e30, -np.inf, la)  # -1e30 stands for no keys in the kernels
    lb = np.where(lb <= -1e30, -np.inf, lb)
    return base.merge_result(*base.merge_core(a, la, b, lb), dtype)
