import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    b, h, sq = query.shape[0], query.shape[1] if query.ndim > 1 else 0, query.shape[2] if query.ndim > 2 else 0
    given = None if mask is None else np.asarray(mask)
    per_batch = given is not None and given.ndim == 3 and b > 1 and given.shape[0] == b
    if per_batch:
        mask = given[:, None]  # (B, Sq, Sk): one for all heads
    p = base.prepare(**locals())
    s = base.scores_of(p)
    w, share, _ = base.softmax_parts(p, base.logits_of(p, s))
    dl, delta = base.dlogits_of(p, w, None)
    named = base.finish(p, w, share, dl, base.uncap(p, dl, s), delta)
    if per_batch and "grad_mask" in named:
        named["grad_mask"] = named["grad_mask"][:, 0]
    return named
