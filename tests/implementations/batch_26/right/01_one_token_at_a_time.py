import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "paged_csr"
conventions = {"causal_alignment": "bottom_right"}


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, scale=None, softcap=None, window=None):
    a = dict(locals())
    pages, L, size = base.check_paged(a)
    B, Hq, Sq, E = query.shape
    Hkv, Ev = key_pool.shape[2], value_pool.shape[3]
    G = Hq // Hkv if Hkv else 1
    c = base.acc(query.dtype)
    N = np.full(B, Sq) if query_lengths is None else base.ints(query_lengths)
    p = (L - N)[:, None, None, None] + np.arange(Sq)[None, None, :]  # (B, 1, 1, Sq)
    q = base.wide(query, c).reshape(B, Hkv, G, Sq, E)
    state = (B, Hkv, G, Sq)
    per_head = lambda x: base.wide(x, c).reshape(1, Hkv, G, 1)
    m = np.broadcast_to(c.type(-np.inf) if sinks is None else per_head(sinks), state).copy()
    l = np.full(state, 0 if sinks is None else 1, c)
    o = np.zeros(state + (Ev,), c)
    factor = c.type(E**-0.5 if scale is None else scale)
    columns = None
    if mask is not None:
        columns = np.broadcast_to(mask.reshape((mask.shape[-3] if mask.ndim > 2 else 1), mask.shape[-1]), (Hq, mask.shape[-1]))
    with np.errstate(all="ignore"):
        for j in reversed(range(int(L.max(initial=0)))):
            ok = np.broadcast_to((j < L)[:, None, None, None], state)
            if is_causal:
                ok = ok & (j <= p)
            if window is not None:
                ok = ok & (window[0] is None or j >= p - window[0]) & (window[1] is None or j <= p + window[1])
            k, v = np.zeros((B, Hkv, E), c), np.zeros((B, Hkv, Ev), c)
            for b in range(B):
                if j < L[b]:
                    page, slot = pages[b][j // size], j % size
                    k[b], v[b] = key_pool[page, slot].astype(c), value_pool[page, slot].astype(c)
            x = np.einsum("bgnse,bge->bgns", q, k) * factor
            if softcap:
                x = np.tanh(x / c.type(softcap)) * c.type(softcap)
            if alibi_slopes is not None:
                x = x - per_head(alibi_slopes) * np.abs(p - j).astype(c)
            if columns is not None and columns.dtype == bool:
                ok = ok & columns[:, j].reshape(1, Hkv, G, 1)
            elif columns is not None:
                bias = columns[:, j].astype(c).reshape(1, Hkv, G, 1)
                x, ok = x + bias, ok & (bias != -np.inf)
            x = np.where(ok, x, c.type(-np.inf))
            top = np.maximum(m, x)
            safe = np.where(top == -np.inf, c.type(0), top)
            e, old = np.exp(x - safe), np.exp(m - safe)
            l = l * old + e
            o = np.where(ok[..., None], o * old[..., None] + e[..., None] * v[:, :, None, None], o)
            m = top
        dead = l == 0
        one = np.where(dead, c.type(1), l)
        output = (o / one[..., None]).reshape(B, Hq, Sq, Ev).astype(query.dtype)
        lse = np.where(dead, -np.inf, m + np.log(one)).reshape(B, Hq, Sq)
    return {"output": output, "logsumexp": lse.astype(c)}
