"""From the output with the larger share towards the other; features in tiles, from the last to the first."""
import numpy as np

conventions = {"masked_nonfinite": "propagates"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if len(output_a.shape) != 4 or output_a.shape != output_b.shape \
            or not output_a.shape[:3] == logsumexp_a.shape == logsumexp_b.shape:
        raise ValueError("shapes that do not fit together")
    with np.errstate(all="ignore"):
        swap = logsumexp_b > logsumexp_a
        high, low = np.where(swap, logsumexp_b, logsumexp_a), np.where(swap, logsumexp_a, logsumexp_b)
        empty = np.isneginf(high)
        odds = np.exp(np.where(empty, -np.inf, low - high))
        share = odds / (1 + odds)
        share = np.where(np.isnan(logsumexp_a) | np.isnan(logsumexp_b), np.nan, share)
        first, second = np.where(swap[..., None], output_b, output_a), np.where(swap[..., None], output_a, output_b)
        out = np.empty(output_a.shape, output_a.dtype)
        for f in range(output_a.shape[3], 0, -3):
            part = slice(max(f - 3, 0), f)
            x, y = first[..., part], second[..., part]
            out[..., part] = x * (1 - share)[..., None] + y * share[..., None]
        out[empty] = 0
        lse = np.where(empty, high, high + np.log1p(odds))
    return out, lse.astype(output_a.dtype)
