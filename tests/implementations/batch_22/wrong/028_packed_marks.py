"""Tokens are given to sequences by marks at the starts that are summed up: a sequence without tokens, whose mark falls together with the next one's, shifts all that follow."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def belongs(starts, tokens):
    """the sequence of each token, and its number in it"""
    marks = np.zeros(tokens + 1, np.int64)
    marks[np.asarray(starts[1:-1], dtype=np.int64)] = 1
    ids = np.cumsum(marks)[:tokens]
    return ids, np.arange(tokens) - np.asarray(starts, dtype=np.int64)[ids]


def attend(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
           causal_alignment="top_left", scale=None, softcap=None, window=None):
    Tq, Hq, E = query.shape
    Tk, Hkv = key.shape[:2]
    base.refuse(bool(Hq) and (not Hkv or Hq % Hkv != 0) or value.shape[1] != Hkv, "heads")
    qi, p = belongs(query_starts, Tq)
    ki, j = belongs(key_starts, Tk)
    if causal_alignment == "bottom_right":
        N, L = (np.diff(np.asarray(x, dtype=np.int64)) for x in (query_starts, key_starts))
        p = p + (L - N)[qi]
    ok = qi[:, None] == ki
    if is_causal:
        ok = ok & (j <= p[:, None])
    left, right = (None, None) if window is None else window
    ok = ok if left is None else ok & (j >= p[:, None] - left)
    ok = ok if right is None else ok & (j <= p[:, None] + right)
    ok = np.broadcast_to(ok, (1, Hq, Tq, Tk))
    group = Hq // max(Hkv, 1)
    q, k, v = (base.wide(x).swapaxes(0, 1)[None] for x in (query, key, value))
    with np.errstate(all="ignore"):
        s = np.einsum("bhie,bhje->bhij", q, np.repeat(k, group, 1)) * (1 / np.sqrt(E) if scale is None else scale)
        s = base.cap(s, softcap)
        if alibi_slopes is not None:
            s = s - base.wide(alibi_slopes)[:, None, None] * np.abs(p[:, None] - j)
        if mask is not None:
            m = base.rank4(mask)[..., j]
            if m.dtype == bool:
                ok = ok & m
            else:
                m = m.astype(np.float64)
                ok, s = ok & ~np.isneginf(m), s + m
        s = np.where(ok, s, -np.inf)
    w, lse = base.softmax(s, ok, None if sinks is None else base.wide(sinks))
    out = base.weigh(w, ok, v, group)[0].swapaxes(0, 1).astype(query.dtype)
    return {"output": out, "logsumexp": lse[0].T.astype(np.float64 if query.dtype == np.float64 else np.float32)}


layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    return attend(query, key, value, query_starts, key_starts,
                  mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
