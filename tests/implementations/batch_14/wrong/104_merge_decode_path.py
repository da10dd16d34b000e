import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def _rows(oa, la, ob, lb, work):
    la, lb = la.astype(work), lb.astype(work)
    top = np.maximum(la, lb)
    top = np.where(np.isneginf(top), work(0), top)
    wa, wb = np.exp(la - top), np.exp(lb - top)
    total = wa + wb
    safe = np.where(total > 0, total, np.where(np.isnan(total), total, work(1)))
    a = np.where(np.isneginf(la)[..., None], 0, (wa / safe)[..., None] * oa)
    b = np.where(np.isneginf(lb)[..., None], 0, (wb / safe)[..., None] * ob)
    return a + b, top + np.log(total)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    # one query: the generation kernel, whose weights are kept beside the softmax state of the splits
    work = np.float32 if output_a.shape[2] == 1 else output_a.dtype.type
    with np.errstate(all="ignore"):
        out, lse = _rows(output_a, logsumexp_a, output_b, logsumexp_b, work)
    return out.astype(output_a.dtype), lse.astype(output_a.dtype)
