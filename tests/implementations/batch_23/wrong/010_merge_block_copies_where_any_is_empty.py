import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


BLOCK = 16


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    acc = base.acc_of(output_a.dtype)
    shape = output_a.shape
    rows = int(np.prod(shape[:3]))
    a, b = (np.array(x, dtype=acc).reshape(rows, shape[3]) for x in (output_a, output_b))
    la, lb = (np.array(x, dtype=acc).reshape(rows) for x in (logsumexp_a, logsumexp_b))
    out, lse = np.zeros_like(a), np.zeros_like(la)
    with np.errstate(all="ignore"):
        for r in range(0, rows, BLOCK):
            s = slice(r, r + BLOCK)
            ea, eb = np.isneginf(la[s]), np.isneginf(lb[s])
            if eb.any() and not ea.any():  # the second part has nothing here
                out[s], lse[s] = a[s], la[s]
                continue
            m = np.maximum(la[s], lb[s])
            m = np.where(np.isneginf(m), 0, m)
            wa, wb = np.exp(la[s] - m), np.exp(lb[s] - m)
            total = wa + wb
            safe = np.where(total == 0, 1, total)
            out[s] = np.where(ea[:, None], 0, (wa / safe)[:, None] * a[s]) + np.where(eb[:, None], 0, (wb / safe)[:, None] * b[s])
            lse[s] = m + np.log(total)
    return {"output": out.reshape(shape).astype(output_a.dtype), "logsumexp": lse.reshape(shape[:3])}
