import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, work = oa.dtype, base.work_dtype(oa.dtype)
    oa, la, ob, lb = (base.widen(a, work) for a in (oa, la, ob, lb))
    la, lb = (a.ravel(order="K").reshape(oa.shape[:3]) for a in (la, lb))
    with np.errstate(**base.QUIET):
        empty_a, empty_b = np.isneginf(la), np.isneginf(lb)
        most, wa, wb = base.merge_weights(la, lb)
        output = base.merge_average(oa, ob, wa, wb, empty_a, empty_b)
        logsumexp = np.where(empty_a, lb, np.where(empty_b, la, most + np.log(wa + wb)))
    return {"output": base.narrow(output, dtype), "logsumexp": logsumexp}
