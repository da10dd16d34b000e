"""The logarithm that is subtracted is the largest of the head, not that of the row."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, work = oa.dtype, base.work_dtype(oa)
    with np.errstate(all="ignore"):
        oa, la, ob, lb = (t.astype(work) for t in (oa, la, ob, lb))
        m = np.fmax(la, lb)
        m = np.fmax.reduce(m, axis=-1, keepdims=True, initial=-np.inf)
        m = np.broadcast_to(m, la.shape).astype(work)
        out, lse = base.merge_average(oa, la, ob, lb, np.isneginf(la), np.isneginf(lb), m)
        return {"output": out.astype(dtype), "logsumexp": lse.astype(dtype)}
