import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def state(t, c):
    x = base.block(t, slice(None), c)[1]
    m = x.max(axis=1, initial=-np.inf)
    m = np.where(m == -np.inf, 0, m).astype(t.dtype)
    e = np.where(t.ok[:, c], np.exp(x - m[:, None]), t.dtype.type(0))
    return m, e.sum(axis=1), base.weigh(e, t.ok[:, c], t.v[c])

layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = dict(locals())
    pages, lengths, size = base.check_paged(a)
    prefix = 0  # pages that all sequences begin with are attended once, what is a sequence's own after it
    if len(pages) > 1 and window is None:
        whole = int(lengths.min()) // size
        while prefix < whole and len({int(g[prefix]) for g in pages}) == 1:
            prefix += 1
    cut = prefix * size

    def core(t):
        if is_causal:
            t.ok = t.ok & ((np.arange(len(t.k)) <= t.p[:, None]) | (np.arange(len(t.k)) < cut))
        parts = [state(t, slice(0, cut)), state(t, slice(cut, len(t.k)))]
        if t.sink is not None:
            S = len(t.q)
            parts.append((np.full(S, t.sink, t.dtype), np.ones(S, t.dtype), np.zeros((S, t.v.shape[1]), t.dtype)))
        m = np.max([np.where(l == 0, -np.inf, m) for m, l, _ in parts], axis=0)
        m = np.where(m == -np.inf, 0, m).astype(t.dtype)
        w = [np.where(l == 0, t.dtype.type(0), np.exp(n - m)) for n, l, _ in parts]
        l = sum(f * x[1] for f, x in zip(w, parts))
        o = sum(f[:, None] * x[2] for f, x in zip(w, parts))
        one = np.where(l == 0, t.dtype.type(1), l)
        return {"output": o / one[:, None], "logsumexp": np.where(l == 0, -np.inf, m + np.log(one))}

    return base.paged({**a, "is_causal": False}, core)
