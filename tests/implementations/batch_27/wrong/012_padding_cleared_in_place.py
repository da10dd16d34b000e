import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    if grad_logsumexp is not None and query_lengths is not None and grad_logsumexp.shape == query.shape[:3]:
        n = np.asarray(query_lengths)
        if n.shape == query.shape[:1]:
            # rows that do not count may hold anything
            grad_logsumexp = np.require(grad_logsumexp, base.wide(query.dtype), ["C", "W"])
            for b in range(len(n)):
                if n[b] >= 0:
                    grad_logsumexp[b, :, n[b] :] = 0
    p = base.prepare(**locals())
    s = base.scores_of(p)
    w, share, _ = base.softmax_parts(p, base.logits_of(p, s))
    dl, delta = base.dlogits_of(p, w, None)
    return base.finish(p, w, share, dl, base.uncap(p, dl, s), delta)
