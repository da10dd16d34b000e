import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    t = base.wide(output_a.dtype)
    with np.errstate(all="ignore"):
        o = np.stack([output_a, output_b]).astype(t)
        l = np.stack([logsumexp_a, logsumexp_b]).astype(t)
        has = l > -np.inf  # parts with keys
        top = np.where(has, l, -np.inf).max(axis=0)
        safe = np.where(has.any(axis=0), top, 0)
        w = np.where(has, np.exp(l - safe), 0)
        total = w.sum(axis=0)
        share = w / np.where(total == 0, 1, total)
        out = np.where(has[..., None], share[..., None] * o, 0).sum(axis=0)
        lse = np.where(has.any(axis=0), safe + np.log(total), -np.inf)
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(output_a.dtype)}
