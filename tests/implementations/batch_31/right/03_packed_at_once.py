import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):  # fmt: skip
    """All sequences in one table of scores, with blocks on the diagonal; no loop over sequences"""
    base.refuse(query.ndim != 3 or key.ndim != 3 or value.ndim != 3, "rank")
    base.refuse(query.shape[2] != key.shape[2], "width")
    base.refuse(len(key) != len(value), "length")
    base.refuse(key.shape[1] != value.shape[1] or (query.shape[1] % key.shape[1] if key.shape[1] else query.shape[1]), "heads")
    wide = np.float64 if query.dtype == np.float64 else np.float32
    q, k, v = (np.asarray(x).astype(wide) for x in (query, key, value))
    group = q.shape[1] // k.shape[1] if k.shape[1] else 0
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    query_starts, key_starts = (np.asarray(x).astype(np.int64) for x in (query_starts, key_starts))
    n, m = np.diff(query_starts), np.diff(key_starts)
    of_query, of_key = np.repeat(np.arange(len(n)), n), np.repeat(np.arange(len(m)), m)
    p = np.arange(len(q)) - query_starts[of_query]
    j = np.arange(len(k)) - key_starts[of_key]
    if causal_alignment == "bottom_right":
        p = p + (m - n)[of_query]
    away = p[:, None] - j
    allowed = of_query[:, None] == of_key
    if is_causal:
        allowed &= away >= 0
    if window is not None and window[0] is not None:
        allowed &= away <= window[0]
    if window is not None and window[1] is not None:
        allowed &= -away <= window[1]
    with np.errstate(all="ignore"):
        logits = np.einsum("qhe,khe->hqk", q, k) * wide(q.shape[2] ** -0.5 if scale is None else scale)
        if softcap:
            logits = wide(softcap) * np.tanh(logits / wide(softcap))
        if alibi_slopes is not None:
            logits = logits - alibi_slopes.astype(wide)[:, None, None] * np.abs(away).astype(wide)
        allowed = np.broadcast_to(allowed, logits.shape)
        if mask is not None:
            rows = np.asarray(mask)[..., j]
            rows = rows[0] if rows.ndim == 4 else rows
            if rows.dtype == bool:
                allowed = allowed & rows
            else:
                allowed = allowed & (rows != -np.inf)
                logits = logits + rows.astype(wide)
        logits = np.where(allowed, logits, -np.inf)
        largest = logits.max(axis=-1, initial=-np.inf)
        if sinks is not None:
            largest = np.maximum(largest, sinks.astype(wide)[:, None])
        safe = np.where(largest == -np.inf, 0, largest)
        powers = np.where(allowed, np.exp(logits - safe[..., None]), 0)
        total = powers.sum(axis=-1) + (0 if sinks is None else np.exp(sinks.astype(wide)[:, None] - safe))
        divisor = np.where(total == 0, 1, total)
        output = base.weigh((powers / divisor[..., None])[None], v.swapaxes(0, 1)[None], allowed[None])[0]
        logs = np.where(total == 0, -np.inf, np.log(divisor) + safe).astype(wide)
        return {"output": output.swapaxes(0, 1).astype(query.dtype), "logsumexp": logs.T}


layout = "packed"
dtypes = base.DTYPES
