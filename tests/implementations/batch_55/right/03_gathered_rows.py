import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    """No masks in the softmax: each query gathers the keys it may attend to, sorted by logit, smallest first."""

    def core(self, a):
        a.out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), a.work)
        a.weights = np.zeros((a.B, a.Hq, a.Sq, a.T), a.work)
        a.logsumexp = np.full((a.B, a.Hq, a.Sq), -np.inf, a.work)
        for b, h, i in np.ndindex(a.B, a.Hq, a.Sq):
            keys = np.flatnonzero(a.may[b, h, i])
            logits = a.logits[b, h, i, keys]
            keys, logits = keys[np.argsort(logits)], np.sort(logits)
            row = logits if a.sinks is None else np.append(logits, a.sinks[h].astype(a.work))
            if not len(row) or row.max() == -np.inf:
                continue
            m = row.max()
            e = np.exp(row - m)
            total = np.cumsum(e)[-1]
            weights = e[: len(keys)] / total
            a.weights[b, h, i, keys] = weights
            a.logsumexp[b, h, i] = m + np.log(total)
            if len(keys):
                a.out[b, h, i] = (weights[:, None] * a.v[b, h, keys]).sum(axis=0)


scaled_dot_product_attention = base.operation(Kind)
