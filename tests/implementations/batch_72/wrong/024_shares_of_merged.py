import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, work = oa.dtype, base.work_dtype(oa.dtype)
    oa, la, ob, lb = (base.widen(a, work) for a in (oa, la, ob, lb))
    with np.errstate(**base.QUIET):
        empty_a, empty_b = np.isneginf(la), np.isneginf(lb)
        most, wa, wb = base.merge_weights(la, lb)
        logsumexp = np.where(empty_a, lb, np.where(empty_b, la, most + np.log(wa + wb)))
        sa, sb = np.exp(la - logsumexp)[..., None], np.exp(lb - logsumexp)[..., None]
        empty_a, empty_b = empty_a[..., None], empty_b[..., None]
        output = np.where(empty_a, 0, sa * oa) + np.where(empty_b, 0, sb * ob)
        output = np.where(empty_a & empty_b, 0, np.where(empty_a, ob, np.where(empty_b, oa, output)))
    return {"output": base.narrow(output, dtype), "logsumexp": logsumexp}
