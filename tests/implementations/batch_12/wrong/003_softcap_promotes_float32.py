import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Grouped heads as a fifth axis, everything in einsum."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    Hkv = key.shape[1]
    P = 0
    if past_key is not None:
        P = past_key.shape[2]
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    T, G, f = key.shape[2], Hq // Hkv, query.dtype.type
    q = query.reshape(B, Hkv, G, Sq, E)
    scores = np.einsum("bhgqe,bhke->bhgqk", q, key) * f(E ** -0.5 if scale is None else scale)
    cap = np.float64(softcap) if softcap else None
    logits = cap * np.tanh(scores / cap) if softcap else scores
    L = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    start = np.full(B, P) if causal_alignment == "top_left" else L - N
    pos = start[:, None] + np.arange(Sq)
    rel = np.arange(T) - pos[:, :, None]
    if alibi_slopes is not None:
        slopes = np.asarray(alibi_slopes).reshape(Hkv, G)
        logits = logits - np.einsum("hg,bqk->bhgqk", slopes, np.abs(rel).astype(f))
    keep = np.broadcast_to(np.arange(T) < L[:, None, None], (B, Sq, T))
    if is_causal:
        keep = keep & (rel <= 0)
    left, right = window if window is not None else (None, None)
    if left is not None:
        keep = keep & (rel >= -left)
    if right is not None:
        keep = keep & (rel <= right)
    keep = np.broadcast_to(keep[:, None, None], (B, Hkv, G, Sq, T))
    if mask is not None:
        full = np.broadcast_to(mask, (B, Hq, Sq, T)).reshape(B, Hkv, G, Sq, T)
        if full.dtype == bool:
            keep = keep & full
        else:
            logits = logits + full
            keep = keep & (full != -np.inf)
    logits = np.where(keep, logits, f(-np.inf))
    top = logits.max(-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        s = np.asarray(sinks).reshape(Hkv, G)[None, :, :, None, None]
        top = np.maximum(top, s)
    top = np.where(np.isneginf(top), f(0), top)
    w = np.exp(logits - top)
    den = w.sum(-1, keepdims=True)
    if sinks is not None:
        den = den + np.exp(s - top)
    lse = (top + np.log(den))[..., 0]
    w = np.where(keep, w / np.where(den == 0, f(1), den), f(0))
    out = np.einsum("bhgqk,bhke->bhgqe", w, value)
    return {"output": out.reshape(B, Hq, Sq, value.shape[3]), "weights": w.reshape(B, Hq, Sq, T),
            "logsumexp": lse.reshape(B, Hq, Sq), "scores": scores.reshape(B, Hq, Sq, T),
            "logits": logits.reshape(B, Hq, Sq, T)}
