import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
BLOCK_Q, BLOCK_K = 16, 16


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Blocks of queries and of keys; blocks of keys that no query of a block can see are skipped."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    Hkv, Ev = key.shape[1], value.shape[3]
    P = 0 if past_key is None else past_key.shape[2]
    T = P + key.shape[2]
    f = query.dtype.type
    factor = f(E ** -0.5) if scale is None else f(scale)
    left, right = window if window is not None else (None, None)
    if is_causal:
        right = 0 if right is None else min(right, 0)
    full = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, T))
    out = np.zeros((B, Hq, Sq, Ev), f)
    for b in range(B):
        L = T if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        shift = P if causal_alignment == "top_left" else L - N
        for h in range(Hq):
            g = h // (Hq // Hkv)
            k = key[b, g] if not P else np.concatenate([past_key[b, g], key[b, g]])
            v = value[b, g] if not P else np.concatenate([past_value[b, g], value[b, g]])
            for q0 in range(0, Sq, BLOCK_Q):
                q1 = min(q0 + BLOCK_Q, Sq)
                p = shift + np.arange(q0, q1)[:, None]
                lo, hi = 0, L
                if left is not None:
                    lo = max(0, (shift + q0 - left) // BLOCK_K * BLOCK_K)
                if right is not None:
                    hi = min(L, (T - Sq if causal_alignment == "bottom_right" else P) + q1 - 1 + right + 1)
                m = np.full((q1 - q0, 1), -np.inf, f)
                l = np.zeros((q1 - q0, 1), f)
                acc = np.zeros((q1 - q0, Ev), f)
                for k0 in range(lo, hi, BLOCK_K):
                    j = np.arange(k0, min(k0 + BLOCK_K, hi))
                    x = query[b, h, q0:q1] @ k[j].T * factor
                    if softcap:
                        x = f(softcap) * np.tanh(x / f(softcap))
                    if alibi_slopes is not None:
                        x = x - f(alibi_slopes[h]) * np.abs(p - j).astype(f)
                    ok = np.ones(x.shape, bool)
                    if left is not None:
                        ok &= j >= p - left
                    if right is not None:
                        ok &= j <= p + right
                    if full is not None:
                        t = full[b, h, q0:q1][:, j]
                        if t.dtype == bool:
                            ok &= t
                        else:
                            x = x + t
                            ok &= t != -np.inf
                    x = np.where(ok, x, f(-np.inf))
                    new = np.maximum(m, x.max(1, keepdims=True))
                    safe = np.where(new == -np.inf, f(0), new)
                    e, fade = np.exp(x - safe), np.exp(m - safe)
                    l = l * fade + e.sum(1, keepdims=True)
                    vj = v[j]
                    if not np.isfinite(vj).all():
                        term = np.where(ok[:, :, None], e[:, :, None] * vj, f(0)).sum(1)
                    else:
                        term = e @ vj
                    acc = acc * fade + term
                    m = new
                if sinks is not None:
                    new = np.maximum(m, f(sinks[h]))
                    safe = np.where(new == -np.inf, f(0), new)
                    acc, l = acc * np.exp(m - safe), l * np.exp(m - safe) + np.exp(f(sinks[h]) - safe)
                out[b, h, q0:q1] = acc / np.where(l == 0, f(1), l)
    return out
