import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Rows one after the other, as the kernel sees them in memory."""
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    shape = output_a.shape
    flat = lambda x: x.ravel(order="K")
    oa, ob = flat(output_a).reshape(-1, shape[3]) if shape[3] else flat(output_a).reshape(int(np.prod(shape[:3])), 0), \
        flat(output_b).reshape(-1, shape[3]) if shape[3] else flat(output_b).reshape(int(np.prod(shape[:3])), 0)
    la, lb = flat(logsumexp_a), flat(logsumexp_b)
    with np.errstate(all="ignore"):
        top = np.maximum(la, lb)
        top[top == -np.inf] = 0
        wa, wb = np.exp(la - top), np.exp(lb - top)
        d = wa + wb
        d1 = np.where(d == 0, 1, d)
        out = np.where((la == -np.inf)[:, None], 0, (wa / d1)[:, None] * oa)
        out = out + np.where((lb == -np.inf)[:, None], 0, (wb / d1)[:, None] * ob)
        lse = top + np.log(d)
    return out.reshape(shape).astype(output_a.dtype), lse.reshape(shape[:3]).astype(output_a.dtype)
