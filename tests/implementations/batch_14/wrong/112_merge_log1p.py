import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    with np.errstate(all="ignore"):
        larger = np.maximum(logsumexp_a, logsumexp_b)
        lse = larger + np.log1p(np.exp(-np.abs(logsumexp_a - logsumexp_b)))
        out = np.zeros(output_a.shape, dtype)
        none = np.isneginf(logsumexp_a) & np.isneginf(logsumexp_b)
        shift = np.where(none, 0, larger)
        total = np.exp(logsumexp_a - shift) + np.exp(logsumexp_b - shift)
        for part, log in ((output_a, logsumexp_a), (output_b, logsumexp_b)):
            there = ~np.isneginf(log)
            share = np.exp(log[there] - shift[there]) / total[there]
            out[there] += share[:, None] * part[there]
    return out, lse.astype(dtype)
