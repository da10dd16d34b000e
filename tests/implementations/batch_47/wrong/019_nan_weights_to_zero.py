import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = base.merge_arrays(output_a, logsumexp_a, output_b, logsumexp_b)
    base.merge_checks(oa, la, ob, lb)
    dtype = oa.dtype
    oa, la, ob, lb = (array.astype(np.float64) for array in (oa, la, ob, lb))
    with np.errstate(all="ignore"):
        m = np.maximum(la, lb)
        wa, wb = np.nan_to_num(np.exp(la - m), nan=0), np.nan_to_num(np.exp(lb - m), nan=0)
        total = wa + wb
        divisor = np.where(total == 0, 1, total)[..., None]
        output = sum(np.where(w[..., None] == 0, 0, w[..., None] / divisor * o) for w, o in ((wa, oa), (wb, ob)))
        logsumexp = np.where(total == 0, -np.inf, m + np.log(total))
    return base.merge_finish(output, logsumexp, dtype)
