import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


PACK = 4            # four numbers to a load


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    b, h, s, e = output_a.shape
    dtype = output_a.dtype
    with np.errstate(all="ignore"):
        top = np.maximum(logsumexp_a, logsumexp_b)
        zero = np.isneginf(top)
        shift = np.where(zero, 0, top)
        wa, wb = np.exp(logsumexp_a - shift), np.exp(logsumexp_b - shift)
        total = np.where(zero, 1, wa + wb)
        lse = shift + np.log(wa + wb)
        wa, wb = wa / total, wb / total
        no_a, no_b = np.isneginf(logsumexp_a)[..., None], np.isneginf(logsumexp_b)[..., None]
        out = np.zeros((b, h, s, e), dtype)
        threads = e // PACK or 1
        width = PACK if e >= PACK else e
        for t in range(threads):
            f = slice(t * width, t * width + width)
            out[..., f] = (np.where(no_a, 0, wa[..., None] * output_a[..., f])
                           + np.where(no_b, 0, wb[..., None] * output_b[..., f]))
    return out, lse.astype(dtype)
