"""Rows are laid in one line: the outputs in the order of their axes, the logarithms as they lie in memory."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    shape = output_a.shape
    rows = (1, 1, -1, shape[3]) if shape[3] else (1, 1, int(np.prod(shape[:3])), 0)
    a, b = output_a.reshape(rows), output_b.reshape(rows)
    r = base.merge_states(a, logsumexp_a.ravel("K")[None, None], b, logsumexp_b.ravel("K")[None, None])
    return {"output": r["output"].reshape(shape), "logsumexp": r["logsumexp"].reshape(shape[:3])}
