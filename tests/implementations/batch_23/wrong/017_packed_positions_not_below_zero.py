import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


layout = "packed"


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    Tq, Hq, E = query.shape
    acc = base.acc_of(query.dtype)
    output = np.zeros((Tq, Hq, value.shape[2]), acc)
    lse = np.full((Tq, Hq), -np.inf, acc)

    def shifted(*args, **kwargs):
        p = base.setup(*args, **kwargs)
        if causal_alignment == "bottom_right" and p.Sq > p.Sk:
            # a sequence begins no earlier than its keys
            q = base.setup(*args, **{**kwargs, "causal_alignment": "top_left"})
            return q
        return p

    for b in range(len(query_starts) - 1):
        i, j = (slice(int(s[b]), int(s[b + 1])) for s in (query_starts, key_starts))
        q, k, v = (a[s].swapaxes(0, 1)[None] for a, s in ((query, i), (key, j), (value, j)))
        columns = None if mask is None else mask[..., : k.shape[2]]
        p = shifted(q, k, v, mask=columns, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
                    causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
        r = base.dense(p)
        output[i] = r["output"][0].swapaxes(0, 1)
        lse[i] = r["logsumexp"][0].T
    return {"output": output.astype(query.dtype), "logsumexp": lse}
