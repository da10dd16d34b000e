"""Ring attention's form: a sigmoid of the difference, taken from either side, and log-sigmoid for the logarithm."""
import numpy as np


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x):
    return np.exp(-_softplus(-x))


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if np.ndim(output_a) != 4 or np.ndim(logsumexp_a) != 3 or output_a.shape != output_b.shape:
        raise ValueError("outputs do not fit")
    if logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3]:
        raise ValueError("logarithms do not fit")
    out = np.zeros(output_a.shape, output_a.dtype)
    lse = np.full(logsumexp_a.shape, -np.inf, output_a.dtype)
    with np.errstate(all="ignore"):
        for b in reversed(range(out.shape[0])):
            for s in range(out.shape[2]):
                for h in range(out.shape[1]):
                    x, y = logsumexp_a[b, h, s], logsumexp_b[b, h, s]
                    if np.isnan(x) or np.isnan(y):
                        out[b, h, s], lse[b, h, s] = np.nan, np.nan
                    elif x == -np.inf and y == -np.inf:
                        pass
                    elif x == -np.inf:
                        out[b, h, s], lse[b, h, s] = output_b[b, h, s], y
                    elif y == -np.inf:
                        out[b, h, s], lse[b, h, s] = output_a[b, h, s], x
                    else:
                        large, small = (output_a, output_b) if x >= y else (output_b, output_a)
                        d = -abs(x - y)
                        share = _sigmoid(d)
                        u, v = large[b, h, s], small[b, h, s]
                        out[b, h, s] = (1 - share) * u + share * v if s % 2 else _sigmoid(-d) * u + share * v
                        lse[b, h, s] = max(x, y) + _softplus(d)
    return {"output": out, "logsumexp": lse}
