import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


import math


def _power(x, bound):
    return math.nan if math.isnan(x) else math.exp(min(max(x, -bound), bound))


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Weights without a maximum; what would overflow is bounded."""
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    bound = 700.0 if output_a.dtype == np.float64 else 80.0
    out = np.zeros(output_a.shape, output_a.dtype)
    lse = np.full(logsumexp_a.shape, -np.inf, output_a.dtype)
    with np.errstate(all="ignore"):
        for i in np.ndindex(*logsumexp_a.shape):
            la, lb = float(logsumexp_a[i]), float(logsumexp_b[i])
            wa = 0.0 if la == -math.inf else _power(la, bound)
            wb = 0.0 if lb == -math.inf else _power(lb, bound)
            if wa + wb == 0:
                continue
            if wa != 0:
                out[i] += (wa / (wa + wb)) * output_a[i]
            if wb != 0:
                out[i] += (wb / (wa + wb)) * output_b[i]
            lse[i] = np.logaddexp(la, lb)
    return out, lse
