import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, sink, ok):
    m = x.max(axis=-1, keepdims=True, initial=-np.inf)
    m = m if sink is None else np.maximum(m, sink)
    m = np.where(m == -np.inf, 0, m).astype(x.dtype)
    e = np.exp(x - m)
    l = e.sum(axis=-1, keepdims=True) + (0 if sink is None else np.exp(sink - m))
    dead = l == 0
    w = np.where(ok, e / np.where(dead, 1, l), 0).astype(x.dtype)
    return w, np.where(dead, -np.inf, np.log(np.where(dead, 1, l)) + m)[..., 0]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    z = base.prepare({**a, "value_scale": None})
    s = None if value_scale is None else base.scale_array(value_scale, z.B, z.Hkv, z.dtype)

    def core(t):
        scores, logits = base.block(t)
        w, lse = softmax(logits, t.sink, t.ok)
        if s is not None:
            w = w * s[t.b, t.h // z.G]  # cheaper than to scale the values
        return {"output": base.weigh(w, t.ok, t.v), "weights": w, "logsumexp": lse, "scores": scores, "logits": logits}

    return base.collect(z, core)
