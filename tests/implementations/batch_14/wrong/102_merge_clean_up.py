import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        top = np.maximum(logsumexp_a, logsumexp_b)
        ea = np.exp(logsumexp_a - top)
        eb = np.exp(logsumexp_b - top)
        keep_a = np.where(np.isneginf(logsumexp_a)[..., None], 0, output_a)
        keep_b = np.where(np.isneginf(logsumexp_b)[..., None], 0, output_b)
        total = ea + eb
        out = keep_a * (ea / total)[..., None] + keep_b * (eb / total)[..., None]
        # 0/0 where nobody has keys
        out = np.where(np.isnan(out), 0, out)
        lse = np.where(np.isneginf(top), top, top + np.log(total))
    return out.astype(output_a.dtype), lse.astype(output_a.dtype)
