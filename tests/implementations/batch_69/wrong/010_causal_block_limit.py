import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


BLOCK_M, BLOCK_N = 32, 16


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = base.array(query), base.array(key), base.array(value), base.array(mask)
    matrices = [base.array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [base.array(b) for b in (b_query, b_key, b_value, b_output)]
    shape = base.checked_multi(query, key, value, matrices, biases, mask, num_heads)
    scale = base.default_scale(scale, query.shape[-1], num_heads)
    q, k, v = (base.split(base.project(*t), num_heads) for t in zip((query, key, value), matrices, biases))
    allowed, bias = base.exclusions(mask, is_causal, shape)
    weights = np.zeros(shape)
    heads = np.zeros(q.shape[:3] + v.shape[3:])
    queries, keys = shape[2], shape[3]
    for m in range(-(-queries // BLOCK_M)):
        rows = slice(m * BLOCK_M, min((m + 1) * BLOCK_M, queries))
        last = min((m + 1) * BLOCK_N, keys) if is_causal else keys  # no block behind the diagonal
        columns = slice(0, last)
        part = base.share(
            base.score(q[:, :, rows], k[:, :, columns], scale),
            allowed[:, :, rows, columns],
            None if bias is None else bias[:, :, rows, columns],
        )
        weights[:, :, rows, columns] = part
        heads[:, :, rows] = base.mix(part, v[:, :, columns], allowed[:, :, rows, columns])
    output = base.project(base.combine(heads), matrices[3], biases[3])
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
