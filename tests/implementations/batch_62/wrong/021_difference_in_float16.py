import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    a, la, b, lb = base.merge_checks(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = a.dtype
    wa, wla, wb, wlb = map(base.wide, (a, la, b, lb))
    output, logsumexp = base.merge_core(wa, wla, wb, wlb)
    if dtype == np.float16:
        with np.errstate(all="ignore"):
            share = np.exp(wla - logsumexp).astype(np.float16)[..., None]
            moved = (b + share * (a - b)).astype(np.float64)
        none = np.isneginf(wla) | np.isneginf(wlb)
        output = np.where(none[..., None], output, moved)
    return base.merge_result(output, logsumexp, dtype)
