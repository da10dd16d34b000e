import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
CHUNK = 4


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    """Four heads at a time, so that the scores fit."""
    out, weights = np.zeros((b, sq, d)), np.zeros((b, num_heads, sq, sk))
    for h in range(0, num_heads, CHUNK):
        count = min(CHUNK, num_heads - h)
        f = slice(h * e, (h + count) * e)
        with base.quiet():
            q, k, v = (base.split_heads(base.up(x) @ base.up(w)[:, f] + (0 if bias is None else base.up(bias)[f]), count)
                       for x, w, bias in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
        part = mask
        if mask is not None and mask.ndim >= 3 and mask.shape[-3] > 1:
            part = mask[..., :count, :, :]
        got = base.sdpa(q, k, v, mask=part, is_causal=is_causal, scale=scale)
        weights[:, h:h + count] = got["weights"]
        with base.quiet():
            out += base.combine_heads(got["output"]) @ base.up(w_output)[f]
    if b_output is not None:
        out += base.up(b_output)
    return {"output": base.down(out, query.dtype), "weights": base.down(weights, query.dtype)}
