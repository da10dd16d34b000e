import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def _beside(share, features):
    """Shares in the shape of the features."""
    try:
        return np.broadcast_to(share, features.shape)
    except ValueError:
        return np.broadcast_to(share[..., None], features.shape)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        top = np.maximum(logsumexp_a, logsumexp_b)
        top = np.where(np.isneginf(top), 0, top)
        wa, wb = np.exp(logsumexp_a - top), np.exp(logsumexp_b - top)
        total = wa + wb
        lse = top + np.log(total)
        total = np.where(total == 0, 1, total)
        wa, wb = _beside(wa / total, output_a), _beside(wb / total, output_b)
        none_a, none_b = _beside(np.isneginf(logsumexp_a), output_a), _beside(np.isneginf(logsumexp_b), output_b)
        out = np.where(none_a, 0, wa * output_a) + np.where(none_b, 0, wb * output_b)
    return out.astype(output_a.dtype), lse.astype(output_a.dtype)
