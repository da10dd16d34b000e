import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """One maximum for each head, so that it stays in a register for the whole tile of queries."""
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    both = np.stack([logsumexp_a, logsumexp_b])
    with np.errstate(all="ignore"):
        top = both.max(axis=(0, 3), keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0, top)
        top = np.where(np.isnan(top), np.fmax.reduce(both, axis=(0, 3), keepdims=True, initial=-np.inf), top)
        w = np.exp(both - top)
        total = w.sum(axis=0)
        share = np.where(total == 0, 0, w / np.where(total == 0, 1, total))
        parts = [np.where(np.isneginf(l)[..., None], 0, s[..., None] * o)
                 for l, s, o in ((logsumexp_a, share[0], output_a), (logsumexp_b, share[1], output_b))]
        lse = top[0] + np.log(total)
    return (parts[0] + parts[1]).astype(output_a.dtype), lse.astype(output_a.dtype)
