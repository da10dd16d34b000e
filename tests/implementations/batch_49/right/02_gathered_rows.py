import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    """Row by row: the keys that a query may attend to are gathered, and there are no masks any more.

    Heads are cut from the matrices, so that each head projects for itself; the scale goes into the query.
    """
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     (b_query, b_key, b_value, b_output), mask)
    heads, dtype = int(num_heads), query.dtype
    batch, queries, features = query.shape
    keys, width = key.shape[1], features // heads
    shape = (batch, heads, queries, keys)
    allowed, added = base.allowed_and_bias(mask, is_causal, shape, dtype)
    added = None if added is None else np.broadcast_to(added, shape)
    scale = base.the_scale(scale, width, dtype)
    joined = np.zeros(query.shape, base.wide(dtype))
    weights = np.zeros(shape, base.wide(dtype))
    with np.errstate(all="ignore"):
        for h in range(heads):
            columns = slice(h * width, (h + 1) * width)
            q, k, v = (
                base.project(x, w[:, columns], None if bias is None else bias[columns], dtype)
                for x, w, bias in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value))
            )
            q = q * scale
            for b, i in np.ndindex(batch, queries):
                seen = np.flatnonzero(allowed[b, h, i])
                if not seen.size:
                    continue
                logits = np.einsum("je,e->j", k[b, seen], q[b, i])
                if added is not None:
                    logits = logits + added[b, h, i, seen]
                # a logarithm and one exponential more in place of the division
                top = logits.max()
                top = top if not np.isneginf(top) else top.dtype.type(0)
                logits = logits - top
                share = np.exp(logits - np.log(np.exp(logits).sum()))
                weights[b, h, i, seen] = share
                joined[b, i, columns] = (share[:, None] * v[b, seen]).sum(axis=0)
    output = base.project(joined, w_output, b_output, dtype)
    return {"output": base.rounded(output, dtype), "weights": base.rounded(weights, dtype)}
