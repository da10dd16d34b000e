import ml_dtypes
import numpy as np

conventions = {"logsumexp_base": "2"}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Products of int8 as integers; the scales of query and key in one factor, that of the value at the end; the past
    is attended to by itself and never joined to the new keys."""
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    if (q.ndim, k.ndim, v.ndim) != (4, 4, 4):
        raise ValueError("rank")
    B, HQ, SQ, E = q.shape
    HKV = k.shape[1]
    if k.shape != (B, HKV, k.shape[2], E) or v.shape[:3] != k.shape[:3] or HQ % max(HKV, 1):
        raise ValueError("query, key and value do not fit")
    if (past_key is None) != (past_value is None):
        raise ValueError("past")
    pieces = [(k, v)]
    if past_key is not None:
        pk, pv = np.asarray(past_key), np.asarray(past_value)
        if pk.ndim != 4 or pk.shape != (B, HKV, pk.shape[2], E) or pv.shape != pk.shape[:3] + v.shape[3:]:
            raise ValueError("past")
        pieces = [(pk, pv), (k, v)]
    P = sum(x.shape[2] for x, _ in pieces[:-1])
    K = P + k.shape[2]
    scales = []
    for s in (query_scale, key_scale, value_scale):
        s = np.ones((), np.float32) if s is None else np.asarray(s)
        if s.ndim > 2 or any(x not in (1, y) for x, y in zip(s.shape[::-1], (HKV, B))):
            raise ValueError("scale")
        scales.append(np.broadcast_to(s, (B, HKV)))
    L, N = np.full(B, K), np.full(B, SQ)
    if key_lengths is not None:
        L = np.asarray(key_lengths)
        if L.shape != (B,) or (L < 0).any() or (L > K).any():
            raise ValueError("key_lengths")
    if query_lengths is not None:
        N = np.asarray(query_lengths)
        if N.shape != (B,) or (N < 0).any() or (N > SQ).any():
            raise ValueError("query_lengths")
    if mask is not None:
        mask = np.asarray(mask)
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != K:
            raise ValueError("mask")
        mask = np.broadcast_to(mask, (B, HQ, SQ, K))
    kind = q.dtype
    if kind.itemsize == 1:
        kind = np.dtype(getattr(ml_dtypes, output_dtype) if output_dtype == "bfloat16" else output_dtype)
    t = np.float64 if kind == np.float64 else np.float32
    qs, ks, vs = (s.astype(t) for s in scales)
    factor = t(E ** -0.5) if scale is None else t(scale)
    output, logs = np.zeros((B, HQ, SQ, v.shape[3]), kind), np.full((B, HQ, SQ), -np.inf, t)
    for b, h in np.ndindex(B, HQ):
        g = h // (HQ // HKV)
        p = np.arange(SQ) + (P if causal_alignment == "top_left" else int(L[b]) - int(N[b]))
        rows, seen, first = [], [], 0
        with np.errstate(all="ignore"):
            for keys, _ in pieces:
                if q.dtype == keys.dtype == np.int8:
                    dots = (q[b, h].astype(np.int64) @ keys[b, g].astype(np.int64).T).astype(t)
                else:
                    dots = q[b, h].astype(t) @ keys[b, g].astype(t).T
                x = dots * (qs[b, g] * ks[b, g]) * factor
                if softcap:
                    x = np.tanh(x / t(softcap)) * t(softcap)
                j = first + np.arange(keys.shape[2])
                gap = p[:, None] - j
                if alibi_slopes is not None:
                    x = x - np.abs(gap).astype(t) * t(alibi_slopes[h])
                see = np.broadcast_to(j < L[b], x.shape).copy()
                if is_causal:
                    see &= gap >= 0
                if window is not None:
                    see &= True if window[0] is None else gap <= window[0]
                    see &= True if window[1] is None else -gap <= window[1]
                if mask is not None:
                    m = mask[b, h][:, j]
                    see &= m if m.dtype == bool else m != -np.inf
                    x = x if m.dtype == bool else x + m.astype(t)
                rows.append(np.where(see, x, -np.inf))
                seen.append(see)
                first += keys.shape[2]
            top = np.max([x.max(axis=1, initial=-np.inf) for x in rows], axis=0)
            if sinks is not None:
                top = np.maximum(top, t(sinks[h]))
            base = np.where(top == -np.inf, 0, top)
            total = np.zeros(SQ, t) if sinks is None else np.exp(t(sinks[h]) - base)
            acc = np.zeros((SQ, v.shape[3]), t)
            for x, see, (_, values) in zip(rows, seen, pieces):
                w = np.where(see, np.exp(x - base[:, None]), 0)
                total = total + w.sum(axis=1)
                for i in range(SQ):
                    acc[i] += w[i, see[i]] @ values[b, g][see[i]].astype(t)
            output[b, h] = (acc * (vs[b, g] / np.where(total == 0, 1, total))[:, None]).astype(kind)
            logs[b, h] = np.where(total == 0, -np.inf, (np.log(total) + base) / t(np.log(2)))
    return {"output": output, "logsumexp": logs}
