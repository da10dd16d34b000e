import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    b, h, s, e = output_a.shape
    acc = np.asarray(output_a, dtype=dtype).reshape(b * h * s, e)   # accumulator
    other = np.asarray(output_b).reshape(b * h * s, e)
    la = np.asarray(logsumexp_a).reshape(-1)
    lb = np.asarray(logsumexp_b).reshape(-1)
    lse = np.empty(b * h * s, dtype)
    if not acc.flags.writeable:
        acc = acc.copy()
    with np.errstate(all="ignore"):
        for r in range(b * h * s):
            if np.isneginf(la[r]) and np.isneginf(lb[r]):
                acc[r], lse[r] = 0, -np.inf
            elif np.isnan(la[r]) or np.isnan(lb[r]):
                acc[r], lse[r] = np.nan, np.nan
            elif np.isneginf(la[r]):
                acc[r], lse[r] = other[r], lb[r]
            elif np.isneginf(lb[r]):
                lse[r] = la[r]
            else:
                top = np.maximum(la[r], lb[r])
                x, y = np.exp(la[r] - top), np.exp(lb[r] - top)
                acc[r] *= x / (x + y)
                acc[r] += (y / (x + y)) * other[r]
                lse[r] = top + np.log(x + y)
    return acc.reshape(b, h, s, e).copy(), lse.reshape(b, h, s)
