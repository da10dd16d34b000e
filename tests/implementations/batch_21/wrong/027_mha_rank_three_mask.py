import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    if mask is not None and mask.ndim == 3 and mask.shape[0] == b and b > 1:
        mask = mask[:, None]  # a mask for each batch entry
    out, weights = np.zeros((b, sq, d)), np.zeros((b, num_heads, sq, sk))
    full = None if mask is None else np.broadcast_to(mask, (b, num_heads, sq, sk))
    for n in range(b):
        q, k, v = (base.project(*t) for t in ((query[n], w_query, b_query), (key[n], w_key, b_key), (value[n], w_value, b_value)))
        mixed = np.zeros((sq, d))
        for h in range(num_heads):
            f = slice(h * e, (h + 1) * e)
            got = base.attend(q[None, :, f], k[None, :, f], v[None, :, f], np.arange(sq), None if full is None else full[n, h][None],
                              scale=scale, is_causal=is_causal)
            mixed[:, f], weights[n, h] = got["output"][0], got["weights"][0]
        out[n] = base.project(mixed, w_output, b_output)
    return {"output": base.down(out, query.dtype), "weights": base.down(weights, query.dtype)}
