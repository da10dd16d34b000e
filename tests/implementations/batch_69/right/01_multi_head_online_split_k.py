import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math

import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
BLOCK = 5  # keys at a time
LOG2E = 1.4426950408889634


def run(q, k, v, allowed, bias, scale):
    """One run over some of the keys, block by block, in powers of two: (top, total, mixed)."""
    rows, kind = len(q), q.dtype
    top = np.full((rows, 1), -np.inf, kind)
    total = np.zeros((rows, 1), kind)
    mixed = np.zeros((rows, v.shape[1]), kind)
    for start in range(0, len(k), BLOCK):
        block = slice(start, start + BLOCK)
        logits = exponents(q, k[block], allowed[:, block], None if bias is None else bias[:, block], scale)
        higher = np.maximum(top, logits.max(axis=1, keepdims=True))
        safe = np.where(np.isneginf(higher), kind.type(0), higher)
        shrink, shares = np.exp2(top - safe), np.exp2(logits - safe)
        shares = np.where(allowed[:, block], shares, kind.type(0))
        total = total * shrink + shares.sum(axis=1, keepdims=True)
        terms = np.where(allowed[:, block, None], shares[..., None] * v[None, block], kind.type(0))
        mixed = mixed * shrink + terms.sum(axis=1)
        top = higher
    return top, total, mixed


def exponents(q, k, allowed, bias, scale):
    logits = (q @ k.T) * q.dtype.type(scale)
    if bias is not None:
        logits = logits + bias
    return np.where(allowed, logits * q.dtype.type(LOG2E), -np.inf).astype(q.dtype)


def merged(a, b):
    top = np.maximum(a[0], b[0])
    safe = np.where(np.isneginf(top), 0, top).astype(top.dtype)
    left, right = np.exp2(a[0] - safe), np.exp2(b[0] - safe)
    return top, a[1] * left + b[1] * right, a[2] * left + b[2] * right


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = base.array(query), base.array(key), base.array(value), base.array(mask)
    matrices = [base.array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [base.array(b) for b in (b_query, b_key, b_value, b_output)]
    batch, heads, queries, keys = base.checked_multi(query, key, value, matrices, biases, mask, num_heads)
    scale = base.default_scale(scale, query.shape[-1], num_heads)
    allowed, bias = base.exclusions(mask, is_causal, (batch, heads, queries, keys))
    kind = np.dtype(base.carrier(query.dtype))
    matrices = [w.astype(kind) for w in matrices]
    biases = [None if b is None else b.astype(kind) for b in biases]
    bias = None if bias is None else bias.astype(kind)
    width = query.shape[-1] // num_heads
    output = np.zeros(query.shape, kind)
    weights = np.zeros((batch, heads, queries, keys), kind)
    with np.errstate(all="ignore"):
        for b in range(batch):
            for h in reversed(range(heads)):
                part = slice(h * width, (h + 1) * width)
                q, k, v = (
                    x[b].astype(kind) @ w[:, part] + (0 if c is None else c[part])
                    for x, w, c in zip((query, key, value), matrices, biases)
                )
                q, k, v = (x.astype(kind) for x in (q, k, v))
                half = keys // 2
                extra = None if bias is None else bias[b, h]
                may = allowed[b, h]
                one = run(q, k[half:], v[half:], may[:, half:], None if extra is None else extra[:, half:], scale)
                two = run(q, k[:half], v[:half], may[:, :half], None if extra is None else extra[:, :half], scale)
                top, total, mixed = merged(one, two)
                total = np.where(total == 0, kind.type(1), total)
                output[b] += (mixed / total) @ matrices[3][part]
                safe = np.where(np.isneginf(top), kind.type(0), top)
                weights[b, h] = np.where(may, np.exp2(exponents(q, k, may, extra, scale) - safe) / total, 0)
        if biases[3] is not None:
            output = output + biases[3]
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
