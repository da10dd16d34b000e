"""A part has keys where its logarithm is above minus infinity, which NaN is not."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = oa.dtype
    with np.errstate(all="ignore"):
        oa, la, ob, lb = (base.wide(t) for t in (oa, la, ob, lb))
        keys_a, keys_b = la > -np.inf, lb > -np.inf
        m = np.maximum(np.where(keys_a, la, -np.inf), np.where(keys_b, lb, -np.inf))
        out, lse = base.merge_average(oa, la, ob, lb, ~keys_a, ~keys_b, m)
        return {"output": out.astype(dtype), "logsumexp": lse.astype(dtype)}
