import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def positions(L, N, rows):
    """As in the kernel: 32 bits."""
    first = np.array([L], np.uint32) - np.array([N], np.uint32)
    return (first + np.arange(rows, dtype=np.uint32)).astype(np.int64)

layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = dict(locals())
    def core(t):
        if causal_alignment == "bottom_right":
            t.p = positions(t.L, t.N, len(t.q))
        t.ok = t.ok & base.allowed(t.p, len(t.k), len(t.k), is_causal, window)
        return base.plain(t)

    return base.packed({**a, "is_causal": False, "window": None}, core)
