import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "packed"


def ids(starts, tokens):
    """The number of the sequence of each token."""
    step = np.zeros(tokens, np.int64)
    inner = np.asarray(starts)[1:-1].astype(np.int64)
    step[inner[inner < tokens]] = 1
    return np.cumsum(step)


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    base.refuse(any(x.ndim != 3 for x in (query, key, value)), "rank")
    (Tq, Hq, E), (Tk, Hkv, _) = query.shape, key.shape
    base.refuse(key.shape[2] != E, "width")
    base.refuse(value.shape[0] != Tk, "length")
    base.refuse(value.shape[1] != Hkv or (Hq % Hkv if Hkv else Hq), "heads")
    base.refuse(len(query_starts) != len(key_starts), "batch")
    ct = base.wide(query.dtype)
    G = Hq // Hkv if Hkv else 1
    q = query.astype(ct).transpose(1, 0, 2)[None]
    k = np.repeat(key.astype(ct).transpose(1, 0, 2), G, axis=0)[None]
    v = np.repeat(value.astype(ct).transpose(1, 0, 2), G, axis=0)[None]
    of_query, of_key = ids(query_starts, Tq), ids(key_starts, Tk)
    qs, ks = np.asarray(query_starts).astype(np.int64), np.asarray(key_starts).astype(np.int64)
    N, L = np.diff(qs), np.diff(ks)
    p = np.arange(Tq) - qs[of_query]
    if causal_alignment == "bottom_right":
        p = p + L[of_query] - N[of_query]
    p, j = p[:, None], (np.arange(Tk) - ks[of_key])[None]
    ok = of_query[:, None] == of_key[None]
    if is_causal:
        ok = ok & (j <= p)
    left, right = (None, None) if window is None else window
    if left is not None:
        ok = ok & (j >= p - left)
    if right is not None:
        ok = ok & (j <= p + right)
    bias = None if alibi_slopes is None else -alibi_slopes.astype(ct)[:, None, None] * np.abs(p - j)
    ok = np.broadcast_to(ok, (1, Hq, Tq, Tk))
    out, weights, lse, *_ = base.core(q, k, v, ok, bias, E ** -0.5 if scale is None else scale, softcap, sinks)
    return {"output": out[0].transpose(1, 0, 2).astype(query.dtype), "logsumexp": lse[0].T}
