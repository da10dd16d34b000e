import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """A part that has no keys is skipped for a whole sequence and head."""
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    out = np.zeros(output_a.shape, dtype)
    lse = np.full(logsumexp_a.shape, -np.inf, dtype)
    if not logsumexp_a.size:
        return out, lse
    with np.errstate(all="ignore"):
        for b in range(out.shape[0]):
            for h in range(out.shape[1]):
                la, lb = logsumexp_a[b, h], logsumexp_b[b, h]
                skip_a, skip_b = la[0] == -np.inf, lb[0] == -np.inf
                if skip_a and skip_b and (la == -np.inf).all() and (lb == -np.inf).all():
                    continue
                if skip_a and not skip_b:
                    out[b, h], lse[b, h] = output_b[b, h], lb
                    out[b, h][lb == -np.inf] = 0
                elif skip_b and not skip_a:
                    out[b, h], lse[b, h] = output_a[b, h], la
                    out[b, h][la == -np.inf] = 0
                else:
                    top = np.maximum(la, lb)
                    top = np.where(top == -np.inf, 0, top)
                    x, y = np.exp(la - top), np.exp(lb - top)
                    d = np.where(x + y == 0, 1, x + y)
                    out[b, h] = np.where((la == -np.inf)[:, None], 0, (x / d)[:, None] * output_a[b, h])
                    out[b, h] += np.where((lb == -np.inf)[:, None], 0, (y / d)[:, None] * output_b[b, h])
                    lse[b, h] = top + np.log(x + y)
        out[np.isnan(logsumexp_a) | np.isnan(logsumexp_b)] = np.nan
        lse[np.isnan(logsumexp_a) | np.isnan(logsumexp_b)] = np.nan
    return out, lse
