import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


_seen = {}


def geometry(p):
    """Causality and window as a matrix, kept for the shapes that come again in every layer."""
    key = (p.Sq, p.Sk, p.causal, p.alignment, p.window)
    if key not in _seen:
        pos, j = p.pos[0][:, None], np.arange(p.Sk)[None, :]
        ok = np.ones((p.Sq, p.Sk), bool)
        if p.causal:
            ok &= j <= pos
        if p.window[0] is not None:
            ok &= j >= pos - p.window[0]
        if p.window[1] is not None:
            ok &= j <= pos + p.window[1]
        _seen[key] = ok
    return _seen[key]


def prepare(query, key, value, mask, pk, pv, kl, ql, sinks, slopes, qs, ks, vs, causal, alignment, scale, cap, window,
            output_dtype):
    rest = mask, pk, pv, kl, ql, sinks, slopes, qs, ks, vs
    last = alignment, scale, cap, window, output_dtype
    if kl is not None or ql is not None or query.ndim != 4 or query.shape[0] == 0:
        return base.setup(query, key, value, *rest, causal, *last)
    p = base.setup(query, key, value, *rest, False, alignment, scale, cap, None, output_dtype)
    p.causal = bool(causal)
    p.window = (None, None) if window is None else tuple(None if w is None else int(w) for w in window)
    p.ok &= geometry(p)
    return p


scaled_dot_product_attention = base.make(base.dense, prepare)
