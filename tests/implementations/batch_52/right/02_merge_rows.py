import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Rows in which both parts have keys are gathered; shares are logistic functions of the distance."""
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    work = np.float64 if output_a.dtype == np.float64 else np.float32
    with base.quiet():
        la, lb = logsumexp_a.astype(work), logsumexp_b.astype(work)
        output = np.zeros(output_a.shape, work)
        logsumexp = np.full(la.shape, -np.inf, work)
        only_a, only_b = np.isneginf(lb), np.isneginf(la)
        both = ~only_a & ~only_b
        output[only_a & ~only_b] = output_a[only_a & ~only_b].astype(work)
        output[only_b & ~only_a] = output_b[only_b & ~only_a].astype(work)
        logsumexp[only_a], logsumexp[only_b & ~only_a] = la[only_a], lb[only_b & ~only_a]
        distance = la[both] - lb[both]
        small = np.exp(-np.abs(distance))
        high, low = 1 / (1 + small), small / (1 + small)
        share_a = np.where(distance < 0, low, high)[:, None]
        share_b = np.where(distance < 0, high, low)[:, None]
        output[both] = share_a * output_a[both].astype(work) + share_b * output_b[both].astype(work)
        logsumexp[both] = np.maximum(la[both], lb[both]) + np.log1p(small)
        return {"output": output.astype(output_a.dtype), "logsumexp": logsumexp}
