"""Grouped heads on an axis of their own, einsum throughout."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

np.seterr(all="ignore")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
          causal_alignment)
    past = 0 if past_key is None else past_key.shape[2]
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    present_key, present_value = key.copy(), value.copy()
    b, hq, sq, e = query.shape
    hk, t, ev = value.shape[1:]
    r = hq // hk
    dt = query.dtype
    q = query.reshape(b, hk, r, sq, e)
    scores = np.einsum("bkrie,bkje->bkrij", q, key) * (1 / math.sqrt(e) if scale is None else scale)
    logits = scores
    if softcap:
        logits = softcap * np.tanh(logits / softcap)
    n = np.full(b, t) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    nq = np.full(b, sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    start = np.full(b, past) if causal_alignment == "top_left" else n - nq
    gap = np.arange(t) - (start[:, None, None] + np.arange(sq)[:, None])
    gap = gap[:, None, None]
    if alibi_slopes is not None:
        logits = logits - alibi_slopes.reshape(hk, r, 1, 1) * np.abs(gap).astype(dt)
    allowed = np.broadcast_to((np.arange(t) < n[:, None])[:, None, None, None], scores.shape).copy()
    if is_causal:
        allowed &= gap <= 0
    if window is not None and window[0] is not None:
        allowed &= gap >= -window[0]
    if window is not None and window[1] is not None:
        allowed &= gap <= window[1]
    if mask is not None:
        grid = np.broadcast_to(mask, (b, hq, sq, t)).reshape(b, hk, r, sq, t)
        if grid.dtype == bool:
            allowed &= grid
        else:
            logits = logits + grid
            allowed &= grid != -np.inf
    logits = np.where(allowed, logits, dt.type(-np.inf))
    top = logits.max(axis=-1, initial=-np.inf, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, sinks.reshape(hk, r, 1, 1))
    top = np.where(top == -np.inf, dt.type(0), top)
    weights = np.exp(logits - top)
    total = weights.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks.reshape(hk, r, 1, 1) - top)
    weights = weights / np.where(total == 0, dt.type(1), total)
    lse = (np.log(total) + top)[..., 0].reshape(b, hq, sq)
    fine = np.isfinite(value)
    out = np.einsum("bkrij,bkje->bkrie", weights, np.where(fine, value, dt.type(0)))
    for bb, kk, jj, ee in zip(*np.nonzero(~fine)):
        hit = np.full((r, sq), jj < n[bb])
        out[bb, kk, :, :, ee] += np.where(hit, weights[bb, kk, :, :, jj] * value[bb, kk, jj, ee], dt.type(0))
    out = out.reshape(b, hq, sq, ev)
    weights, scores, logits = (x.reshape(b, hq, sq, t) for x in (weights, scores, logits))
    return {"output": out, "weights": weights, "logsumexp": lse, "scores": scores, "logits": logits, "present_key": present_key, "present_value": present_value}
