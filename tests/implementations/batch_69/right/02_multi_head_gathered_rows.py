import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math

import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(parts):
    """A sum in pairs along the first axis."""
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else parts[:0]
        parts = np.concatenate([parts[0 : len(parts) - len(odd) : 2] + parts[1::2], odd])
    return parts[0]


def projected(x, matrix, bias, kind):
    """Tokens times a matrix, feature by feature; the bias first."""
    total = np.zeros(x.shape, kind) if bias is None else np.zeros(x.shape, kind) + bias.astype(kind)
    x, matrix = x.astype(kind), matrix.astype(kind)
    for d in range(x.shape[-1]):
        total = total + x[..., d : d + 1] * matrix[d]
    return total


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = base.array(query), base.array(key), base.array(value), base.array(mask)
    matrices = [base.array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [base.array(b) for b in (b_query, b_key, b_value, b_output)]
    batch, heads, queries, keys = base.checked_multi(query, key, value, matrices, biases, mask, num_heads)
    kind = np.dtype(base.carrier(query.dtype)).type
    scale = kind(base.default_scale(scale, query.shape[-1], num_heads))
    width = query.shape[-1] // num_heads
    spread = None if mask is None else np.broadcast_to(mask, (batch, heads, queries, keys))
    with np.errstate(all="ignore"):
        q, k, v = (projected(x, w, b, kind) for x, w, b in zip((query, key, value), matrices, biases))
        weights = np.zeros((batch, heads, queries, keys), kind)
        mixed = np.zeros(query.shape, kind)
        for b in range(batch):
            for i in range(queries):
                near = np.arange(min(i + 1, keys) if is_causal else keys)
                for h in range(heads):
                    part = slice(h * width, (h + 1) * width)
                    seen, extra = near, None
                    if spread is not None:
                        row = spread[b, h, i, : len(near)]
                        if row.dtype == bool:
                            seen = near[row]
                        else:
                            row = row.astype(kind)
                            seen = near[row != -np.inf]
                            extra = row[seen]
                    if not len(seen):
                        continue
                    logits = (k[b, seen, part] * q[b, i, part]).sum(axis=1) * scale
                    if extra is not None:
                        logits = logits + extra
                    shares = np.exp(logits - logits.max())
                    mixed[b, i, part] = tree(shares[:, None] * v[b, seen, part]) / tree(shares)
                    weights[b, h, i, seen] = shares / tree(shares)
        output = projected(mixed, matrices[3], biases[3], kind)
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
