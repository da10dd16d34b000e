"""Online softmax over tiles of 7 keys in units of log 2, float32 throughout but for float64."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
TILE = 7


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    S = base.setup(**dict(locals()), work=np.float32)
    log2e, ln2 = S.work.type(np.log2(np.e)), S.work.type(np.log(2))
    with np.errstate(all="ignore"):
        ok = base.allowed(S)
        logits = base.to_logits(S, base.raw_scores(S), ok)
        v = np.repeat(S.v, S.G, axis=1)
        top = np.full((S.B, S.Hq, S.Sq, 1), -np.inf, S.work)
        total, acc = np.zeros_like(top), np.zeros((S.B, S.Hq, S.Sq, S.Ev), S.work)
        if S.sinks is not None:
            total = total + 1
            top = np.broadcast_to((S.sinks * log2e)[:, None, None], total.shape)
        for lo in range(0, S.T, TILE):
            part = logits[..., lo:lo + TILE] * log2e
            new = np.maximum(top, part.max(axis=-1, keepdims=True))
            shift = np.where(new == -np.inf, S.work.type(0), new)
            e, factor = np.exp2(part - shift), np.exp2(top - shift)
            old = total * factor
            total = old + e.sum(axis=-1, keepdims=True)
            acc = acc * (old / base.some(total)) + base.weighted(e / base.some(total), v[:, :, lo:lo + TILE], ok[..., lo:lo + TILE])
            top = new
        none = total == 0
        output = acc  # a running mean
        logsumexp = (np.where(none, 0, top) + np.log2(total)) * ln2
    return base.results(S, output, logsumexp=logsumexp[..., 0])
