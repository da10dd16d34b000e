import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


LOG2E = 1.4426950408889634


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """exp2 is the faster one: logarithms are turned to the base 2 for the weights."""
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    out = np.empty_like(output_a, order="C")
    lse = np.empty(logsumexp_a.shape, output_a.dtype)
    with np.errstate(all="ignore"):
        for index in np.ndindex(*logsumexp_a.shape):
            a, b = logsumexp_a[index], logsumexp_b[index]
            if a == -np.inf or b == -np.inf:
                lse[index] = np.maximum(a, b)
                out[index] = output_b[index] if a == -np.inf else output_a[index]
                if a == b:
                    out[index] = 0
                if a != a or b != b:
                    out[index] = np.nan
                continue
            top = np.maximum(a, b)
            p, q = np.exp2((a - top) * LOG2E), np.exp2((b - top) * LOG2E)
            d = p + q
            out[index] = output_a[index] * (p / d) + output_b[index] * (q / d)
            lse[index] = top + np.log2(d)
    return out, lse
