import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    wide = base.carrier(output_a.dtype)
    oa, la, ob, lb = (a.astype(wide) for a in (output_a, logsumexp_a, output_b, logsumexp_b))
    with np.errstate(all="ignore"):
        empty_a, empty_b = la == -np.inf, lb == -np.inf
        top = np.maximum(np.maximum(la, lb), 0)
        wa = np.where(empty_a, 0, np.exp(la - top))
        wb = np.where(empty_b, 0, np.exp(lb - top))
        out = base.average(oa, ob, wa, wb, empty_a, empty_b)
        lse = np.where(empty_a, lb, np.where(empty_b, la, top + np.log(wa + wb)))
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(output_a.dtype)}
