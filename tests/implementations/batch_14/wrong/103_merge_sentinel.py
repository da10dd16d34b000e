import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


EMPTY = -1.0e4


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Parts without keys carry a sentinel, so that no infinity meets another."""
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    la, lb = np.maximum(logsumexp_a, EMPTY), np.maximum(logsumexp_b, EMPTY)
    with np.errstate(all="ignore"):
        top = np.maximum(la, lb)
        wa = np.where(np.isneginf(logsumexp_a), 0, np.exp(la - top))
        wb = np.where(np.isneginf(logsumexp_b), 0, np.exp(lb - top))
        total = wa + wb
        inverse = np.where(total == 0, 0, 1 / np.where(total == 0, 1, total))
        a = np.where(np.isneginf(logsumexp_a)[..., None], 0, (wa * inverse)[..., None] * output_a)
        b = np.where(np.isneginf(logsumexp_b)[..., None], 0, (wb * inverse)[..., None] * output_b)
        lse = np.where(total == 0, -np.inf, top + np.log(total))
    return (a + b).astype(output_a.dtype), lse.astype(output_a.dtype)
