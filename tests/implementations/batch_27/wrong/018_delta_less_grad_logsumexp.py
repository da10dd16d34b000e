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
    with np.errstate(all="ignore"):
        dp = np.where(p.allow, p.go @ base.T(p.v[:, p.head]), 0)
        delta = np.where(p.allow, w * dp, 0).sum(axis=-1)
        delta -= p.gl  # one subtraction here spares an addition in the loop over the keys
        p.gl = np.zeros_like(p.gl)
        dl = np.where(p.allow, w * (dp - delta[..., None]), 0)
    return base.finish(p, w, share, dl, base.uncap(p, dl, s), delta)
