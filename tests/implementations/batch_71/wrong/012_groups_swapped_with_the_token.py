import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    for name in ("query", "key", "value", "past_key", "past_value"):
        if np.ndim(args[name]) == 4:
            args[name] = np.swapaxes(args[name], 1, 2)
    S = base.setup(**args)
    if S.Sq == 1 and S.G > 1:
        # groups take the place of the one token: (B, 1, Hq, E) as (B, G, Hkv, E)
        read = np.broadcast_to(np.arange(S.Hkv), (S.G, S.Hkv)).reshape(-1)
        S.k, S.v, S.G, S.Hkv = S.k[:, read], S.v[:, read], 1, S.Hq
    output = base.finish(S)["output"]
    return {"output": np.ascontiguousarray(np.swapaxes(output, 1, 2))}
