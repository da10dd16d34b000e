"""Softmax from blocks of 8 that are merged in a tree, each with its own maximum; exponentials to the base 2; float32
throughout but for float64."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
BLOCK = 8


def power(distance):
    return np.exp2(distance * distance.dtype.type(1.4426950408889634))


def merged(one, other):
    (m, s), (n, t) = one, other
    top = np.maximum(m, n)
    safe = np.where(np.isneginf(top), top.dtype.type(0), top)
    return top, s * power(m - safe) + t * power(n - safe)


def softmax(x, axis=-1):
    x = np.asarray(x)
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1)
    rows = rows.astype(base.work(x.dtype))
    if not rows.size:
        return {"output": np.zeros(x.shape, x.dtype)}
    with base.quiet():
        states = []
        for start in range(0, rows.shape[-1], BLOCK):
            block = rows[..., start:start + BLOCK]
            top = block.max(axis=-1, keepdims=True)
            safe = np.where(np.isneginf(top), top.dtype.type(0), top)
            states.append((top, power(block - safe).sum(axis=-1, keepdims=True)))
        while len(states) > 1:
            half = (len(states) + 1) // 2
            states = [merged(states[n], states[n + half]) if n + half < len(states) else states[n] for n in range(half)]
        top, total = states[0]
        weights = power(rows - top) / total
    weights = weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
    return {"output": weights.astype(x.dtype)}
