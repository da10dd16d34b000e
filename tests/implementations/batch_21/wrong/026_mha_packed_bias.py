import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    # the three projections as one matrix (D, 3D) and one bias (3D)
    w = np.hstack([base.up(w_query), base.up(w_key), base.up(w_value)])
    bias = np.zeros(3 * d)
    if b_query is not None:
        rest = [np.zeros(d) if x is None else base.up(x) for x in (b_key, b_value)]
        bias = np.concatenate([base.up(b_query), *rest])
    with base.quiet():
        q, k, v = (base.up(x) @ w[:, n * d:(n + 1) * d] + bias[n * d:(n + 1) * d] for n, x in enumerate((query, key, value)))
    q, k, v = (base.split_heads(t, num_heads) for t in (q, k, v))
    got = base.sdpa(q, k, v, mask=mask, is_causal=is_causal, scale=scale)
    with base.quiet():
        # each head has its rows of the output matrix
        output = np.einsum("bhse,hef->bsf", got["output"], base.up(w_output).reshape(num_heads, e, d))
        if b_output is not None:
            output = output + base.up(b_output)
    return {"output": base.down(output, query.dtype), "weights": base.down(got["weights"], query.dtype)}
