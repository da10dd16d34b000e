import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    acc = base.acc_of(output_a.dtype)
    parts = [(o.astype(acc), s.astype(acc)) for o, s in ((output_a, logsumexp_a), (output_b, logsumexp_b))]
    with np.errstate(all="ignore"):
        merged = np.logaddexp(parts[0][1], parts[1][1])
        out = np.zeros(output_a.shape, acc)
        for o, s in parts:
            share = np.where(np.isneginf(s), 0, np.exp(s - merged))
            out = out + np.where(np.isneginf(s)[..., None], 0, share[..., None] * o)
    return {"output": out.astype(output_a.dtype), "logsumexp": merged.astype(acc)}
