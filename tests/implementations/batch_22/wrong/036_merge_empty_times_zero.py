"""What an empty part holds is multiplied by its weight of 0, so that NaN and infinity come through."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    out = np.zeros(output_a.shape, output_a.dtype)
    lse = np.zeros(logsumexp_a.shape, np.float64 if output_a.dtype == np.float64 else np.float32)
    with np.errstate(all="ignore"):
        for row in np.ndindex(lse.shape):
            la, lb = np.float64(logsumexp_a[row]), np.float64(logsumexp_b[row])
            if la == -np.inf and lb == -np.inf:
                lse[row] = -np.inf
                continue
            m = np.maximum(la, lb)
            wa, wb = np.exp(la - m), np.exp(lb - m)
            total = wa + wb
            out[row] = (output_a[row].astype(np.float64) * (wa / total) + output_b[row].astype(np.float64) * (wb / total)).astype(out.dtype)
            lse[row] = np.log(total) + m
    return {"output": out, "logsumexp": lse}
