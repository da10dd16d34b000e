import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    has_a, has_b = logsumexp_a > -np.inf, logsumexp_b > -np.inf
    with np.errstate(all="ignore"):
        la, lb = np.where(has_a, logsumexp_a, -np.inf), np.where(has_b, logsumexp_b, -np.inf)
        top = np.where(has_a | has_b, np.maximum(la, lb), 0)
        wa, wb = np.exp(la - top), np.exp(lb - top)
        total = np.where(has_a | has_b, wa + wb, 1)
        out = np.zeros(output_a.shape, dtype)
        out[has_a] += (wa / total)[has_a][:, None] * output_a[has_a]
        out[has_b] += (wb / total)[has_b][:, None] * output_b[has_b]
        lse = np.where(has_a | has_b, top + np.log(total), -np.inf)
    return out, lse.astype(dtype)
