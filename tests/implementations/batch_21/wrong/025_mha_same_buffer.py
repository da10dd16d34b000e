import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def root(a):
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def same(a, b):
    """Whether two arguments are the same tokens: views of one memory, of one form."""
    return a is b or (root(a) is root(b) and a.shape == b.shape and a.strides == b.strides)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    with base.quiet():
        if same(query, key) and same(key, value):  # self-attention: one product for all three
            w = np.concatenate([base.up(w_query), base.up(w_key), base.up(w_value)], axis=1)
            q, k, v = np.split(base.up(query) @ w, 3, axis=2)
        else:
            q, k, v = base.up(query) @ base.up(w_query), base.up(key) @ base.up(w_key), base.up(value) @ base.up(w_value)
        q, k, v = (t if bias is None else t + base.up(bias) for t, bias in ((q, b_query), (k, b_key), (v, b_value)))
    q, k, v = (t.reshape(b, -1, num_heads, e).swapaxes(1, 2) for t in (q, k, v))
    got = base.sdpa(q, k, v, mask=mask, is_causal=is_causal, scale=scale)
    output = base.project(got["output"].swapaxes(1, 2).reshape(b, sq, d), w_output, b_output)
    return {"output": base.down(output, query.dtype), "weights": base.down(got["weights"], query.dtype)}
