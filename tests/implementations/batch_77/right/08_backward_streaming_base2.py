"""Gradients from the stored logsumexp (base 2) and output, by streaming over tiles of 9 keys from the last one.

What is stored is used where it can be; a logsumexp that is not finite is computed anew. A weight never exceeds 1.
"""

import math

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {
    "logsumexp_base": "2",
    "empty_logsumexp": "plus_infinity",
    "fully_masked_row": "zero",
    "no_keys": "refuse",
}

LOG2E = 1 / math.log(2)
TILE = 9


def _times(a, b, allowed):
    """a @ b, where a (n, m) is 0 outside of allowed, and nothing there is multiplied."""
    if np.isfinite(b).all():
        return a @ b
    return np.where(allowed[:, :, None], a[:, :, None] * b[None], 0).sum(axis=1)


class _Rows:
    """The queries of one head of one batch entry, and what they may see."""

    def __init__(self, query, key, value, carried, place, count, bounds, mask, slope, scale, softcap):
        self.q, self.k, self.v = query.astype(carried), key.astype(carried), value.astype(carried)
        self.carried, self.place, self.count = carried, place, count
        self.bounds, self.mask, self.slope, self.scale, self.softcap = bounds, mask, slope, scale, softcap

    def tiles(self):
        left, right = self.bounds
        for end in range(self.count, 0, -TILE):
            tile = slice(max(end - TILE, 0), end)
            ahead = np.arange(tile.start, end) - self.place[:, None]
            allowed = np.ones(ahead.shape, bool)
            if left is not None:
                allowed &= ahead >= -left
            if right is not None:
                allowed &= ahead <= right
            extra = None
            if self.mask is not None:
                extra = self.mask[: len(self.place), tile]
                allowed &= extra if extra.dtype == bool else extra != -np.inf
                extra = None if extra.dtype == bool else np.where(allowed, extra, 0).astype(self.carried)
            if not allowed.any():
                continue
            score = self.q @ self.k[tile].T * self.scale
            slack = None
            logit = score
            if self.softcap:
                capped = np.tanh(score / self.softcap)
                logit, slack = self.softcap * capped, 1 - capped * capped
            if self.slope is not None:
                logit = logit - self.slope * np.abs(ahead).astype(self.carried)
            if extra is not None:
                logit = logit + extra
            yield tile, allowed, np.where(allowed, logit, -np.inf), slack


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank must be 4")
    batch, heads, rows, width = query.shape
    groups, keys = key.shape[1:3]
    if key.shape[3] != width:
        raise ValueError("width")
    if key.shape[0] != batch or value.shape[0] != batch:
        raise ValueError("batch")
    if value.shape[1] != groups or (heads and not groups) or (groups and heads % groups):
        raise ValueError("heads")
    if value.shape[2] != keys:
        raise ValueError("length")
    if key_lengths is not None:
        key_lengths = np.asarray(key_lengths)
        if key_lengths.shape != (batch,):
            raise ValueError("batch of lengths")
        if ((key_lengths < 0) | (key_lengths > keys)).any():
            raise ValueError("key length")
    if query_lengths is not None:
        query_lengths = np.asarray(query_lengths)
        if query_lengths.shape != (batch,):
            raise ValueError("batch of lengths")
        if ((query_lengths < 0) | (query_lengths > rows)).any():
            raise ValueError("query length")
    if grad_output.shape != (batch, heads, rows, value.shape[3]):
        raise ValueError("grad_output")
    if grad_logsumexp is not None and grad_logsumexp.shape != (batch, heads, rows):
        raise ValueError("grad_logsumexp")
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != keys:
            raise ValueError("mask")
        masks = np.broadcast_to(mask, (batch, heads, rows, keys))
    if keys == 0:
        raise ValueError("no keys")
    additive = mask is not None and mask.dtype != bool
    carried = np.float64 if query.dtype == np.float64 else np.float32
    scale = 1 / math.sqrt(width) if scale is None else scale
    left, right = window if window is not None else (None, None)
    if is_causal:
        right = 0 if right is None else min(right, 0)

    grad_query = np.zeros(query.shape, carried)
    grad_key = np.zeros(key.shape, carried)
    grad_value = np.zeros(value.shape, carried)
    grad_mask = np.zeros((1,) * (4 - mask.ndim) + mask.shape, carried) if additive else None
    grad_sinks = np.zeros(heads, carried) if sinks is not None else None
    with np.errstate(all="ignore"):
        for b in range(batch):
            count = keys if key_lengths is None else int(key_lengths[b])
            n = rows if query_lengths is None else int(query_lengths[b])
            place = np.arange(n) + (0 if causal_alignment == "top_left" else count - n)
            for h in range(heads):
                g = h // (heads // groups)
                these = _Rows(
                    query[b, h, :n], key[b, g], value[b, g], carried, place, count, (left, right),
                    None if mask is None else masks[b, h],
                    None if alibi_slopes is None else carried(alibi_slopes[h]), scale, softcap,
                )
                seen = np.zeros(n, bool)
                for _, allowed, _, _ in these.tiles():
                    seen |= allowed.any(axis=1)
                sink = None if sinks is None else carried(sinks[h])
                # the logarithm, natural
                if logsumexp is not None:
                    shift = logsumexp[b, h, :n].astype(carried) / carried(LOG2E)
                    whole = np.ones(n, carried)
                if logsumexp is None or not np.isfinite(shift[seen]).all():
                    top = np.full(n, -np.inf if sink is None else sink, carried)
                    total = np.zeros(n, carried) if sink is None or sink == -np.inf else np.ones(n, carried)
                    for _, allowed, logit, _ in these.tiles():
                        higher = np.maximum(top, logit.max(axis=1))
                        base = np.where(higher == -np.inf, 0, higher)
                        e = np.where(allowed, np.exp(logit - base[:, None]), 0)
                        total = total * np.exp(top - base) + e.sum(axis=1)
                        top = higher
                    use = np.ones(n, bool) if logsumexp is None else ~np.isfinite(shift)
                    shift = np.where(use, top, 0 if logsumexp is None else shift)
                    whole = np.where(use, total, 1)
                up = grad_output[b, h, :n].astype(carried)
                onto = np.zeros(n, carried)
                if grad_logsumexp is not None:  # of the logarithm to the base 2
                    onto = grad_logsumexp[b, h, :n].astype(carried) * carried(LOG2E)
                # delta
                if output is not None:
                    delta = (up * output[b, h, :n].astype(carried)).sum(axis=1)
                else:
                    delta = np.zeros(n, carried)
                    for tile, allowed, logit, _ in these.tiles():
                        w = np.where(allowed, np.exp(np.minimum(logit - shift[:, None], 0)) / whole[:, None], 0)
                        by_weight = np.where(allowed, up @ these.v[tile].T, 0)
                        delta += np.where(allowed, w * by_weight, 0).sum(axis=1)
                if sink is not None:
                    share = np.exp(np.minimum(sink - shift, 0)) / whole * (onto - delta)
                    grad_sinks[h] += np.where(seen, share, onto).sum()
                for tile, allowed, logit, slack in these.tiles():
                    w = np.where(allowed, np.exp(np.minimum(logit - shift[:, None], 0)) / whole[:, None], 0)
                    by_weight = up @ these.v[tile].T
                    by_logit = np.where(allowed, w * (by_weight - delta[:, None] + onto[:, None]), 0)
                    grad_value[b, g, tile] += _times(w.T, up, allowed.T)
                    if additive:
                        at = tuple(slice(x, x + 1) if size > 1 else slice(0, 1) for x, size in zip((b, h), grad_mask.shape))
                        part = by_logit if grad_mask.shape[2] == rows and rows != 1 else by_logit.sum(axis=0, keepdims=True)
                        span = slice(0, n) if part is by_logit else slice(0, 1)
                        grad_mask[at + (span, tile)] += part
                    by_score = by_logit if slack is None else np.where(allowed, by_logit * slack, 0)
                    grad_query[b, h, :n] += _times(by_score, these.k[tile], allowed) * scale
                    grad_key[b, g, tile] += _times(by_score.T, these.q, allowed.T) * scale
        result = {
            "grad_query": grad_query.astype(query.dtype),
            "grad_key": grad_key.astype(query.dtype),
            "grad_value": grad_value.astype(query.dtype),
        }
    if additive:
        result["grad_mask"] = grad_mask.reshape(mask.shape)
    if sinks is not None:
        result["grad_sinks"] = grad_sinks
    return result
