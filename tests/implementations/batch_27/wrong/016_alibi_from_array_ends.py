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
    if p.slopes is not None and causal_alignment == "bottom_right":
        distance = np.abs(np.arange(p.Sq)[:, None] + p.Sk - p.Sq - np.arange(p.Sk)).astype(p.T)
        ramp = -p.slopes[:, None, None] * distance
        p.slopes = None
    else:
        ramp = None
    s = base.scores_of(p)
    logits = base.logits_of(p, s)
    if ramp is not None:
        with np.errstate(all="ignore"):
            logits = np.where(p.allow, logits + ramp, -np.inf)
    w, share, _ = base.softmax_parts(p, logits)
    dl, delta = base.dlogits_of(p, w, None)
    return base.finish(p, w, share, dl, base.uncap(p, dl, s), delta)
