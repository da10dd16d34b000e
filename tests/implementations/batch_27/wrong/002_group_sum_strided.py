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
    ds = base.uncap(p, dl, s)
    with np.errstate(all="ignore"):
        per_head_k = base.contract(base.T(ds), p.q, base.T(p.allow)) * p.factor
        per_head_v = base.contract(base.T(w), p.go, base.T(p.allow))
        dk = np.zeros((p.B, p.Hkv, p.Sk, p.E), p.T)
        dv = np.zeros((p.B, p.Hkv, p.Sk, p.Ev), p.T)
        for r in range(p.rep if p.Hkv else 0):
            # one query head of every group at a time
            dk += per_head_k[:, r * p.Hkv : (r + 1) * p.Hkv]
            dv += per_head_v[:, r * p.Hkv : (r + 1) * p.Hkv]
    named = base.finish(p, w, share, dl, ds, delta)
    with np.errstate(all="ignore"):
        return named | {"grad_key": dk.astype(p.dtype), "grad_value": dv.astype(p.dtype)}
