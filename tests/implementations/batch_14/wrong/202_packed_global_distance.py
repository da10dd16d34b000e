import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "packed"



def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """All tokens of all sequences in one square of scores, from which other sequences are masked."""
    base.refuse(query.ndim != 3 or key.ndim != 3 or value.ndim != 3, "rank")
    base.refuse(key.shape[:2] != value.shape[:2] or key.shape[2] != query.shape[2], "shapes")
    base.refuse(len(query_starts) != len(key_starts), "starts")
    base.refuse(query.shape[1] % max(key.shape[1], 1) != 0, "grouped")
    dtype, (tq, hq, e), tk = query.dtype, query.shape, key.shape[0]
    qs, ks = np.asarray(query_starts, np.int64), np.asarray(key_starts, np.int64)
    group = hq // max(key.shape[1], 1)
    n, l = np.diff(qs), np.diff(ks)
    seq_q, seq_k = np.repeat(np.arange(len(n)), n), np.repeat(np.arange(len(l)), l)
    at_k = np.arange(tk) - ks[seq_k]
    apart = np.arange(tq)[:, None] - np.arange(tk)[None, :]         # the starts of a sequence drop out of the difference
    if causal_alignment == "bottom_right":
        apart = apart + (ks[1:] - qs[1:])[seq_q][:, None]
    with np.errstate(all="ignore"):
        x = np.einsum("ihe,jhe->hij", query, np.repeat(key, group, axis=1)) * dtype.type(e ** -0.5 if scale is None else scale)
        if softcap:
            x = np.tanh(x / softcap) * softcap
        if alibi_slopes is not None:
            x = x - np.asarray(alibi_slopes, dtype)[:, None, None] * np.abs(apart)
        ok = np.broadcast_to((seq_q[:, None] == seq_k[None, :]), x.shape)
        if is_causal:
            ok = ok & (apart >= 0)
        if window is not None:
            if window[0] is not None:
                ok = ok & (apart <= window[0])
            if window[1] is not None:
                ok = ok & (-apart <= window[1])
        if mask is not None:
            column = at_k
            m = np.asarray(mask)[..., np.clip(column, 0, mask.shape[-1] - 1)] if mask.shape[-1] else np.zeros((1, tk), bool)
            m = m.reshape(m.shape[-3:]) if m.ndim > 2 else m
            if m.dtype == bool:
                ok = ok & m
            else:
                ok, x = ok & ~np.isneginf(m), x + m
        x = np.where(ok, x, -np.inf)
        sink = np.full((hq, 1, 1), -np.inf) if sinks is None else np.asarray(sinks, dtype).reshape(hq, 1, 1)
        top = np.maximum(x.max(-1, keepdims=True, initial=-np.inf), sink)
        top = np.where(np.isneginf(top), 0, top)
        p = np.where(ok, np.exp(x - top), 0)
        total = p.sum(-1, keepdims=True) + np.exp(sink - top)
        p = p / np.where(total == 0, 1, total)
        v = np.repeat(value, group, axis=1)
        if np.isfinite(v).all():
            out = np.einsum("hij,jhd->ihd", p, v)
        else:
            out = np.where(ok[..., None], p[..., None] * v.transpose(1, 0, 2)[:, None], 0).sum(2).transpose(1, 0, 2)
        lse = (top + np.log(total))[..., 0].T
    return {"output": out.astype(dtype), "logsumexp": lse.astype(dtype)}
