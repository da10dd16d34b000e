import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    p = base.prepare(**locals())
    s = base.scores_of(p)
    w, share, _ = base.softmax_parts(p, base.logits_of(p, s))
    dl, delta = base.dlogits_of(p, w, None)
    named = base.finish(p, w, share, dl, base.uncap(p, dl, s), delta)
    with np.errstate(all="ignore"):
        dv = np.zeros(p.value.shape, p.dtype)
        for b, h, i in np.ndindex(p.B, p.Hq, p.Sq):
            js = np.flatnonzero(p.allow[b, h, i])
            add = w[b, h, i, js, None] * p.go[b, h, i]
            # each query adds what it has straight to the result in memory
            dv[b, h // p.rep, js] = (dv[b, h // p.rep, js].astype(p.T) + add).astype(p.dtype)
    return named | {"grad_value": dv}
