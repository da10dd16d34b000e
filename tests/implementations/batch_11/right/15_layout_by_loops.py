"""Masks and layouts cell by cell."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    if additive:
        rows = [[0.0 if j - i <= offset else -math.inf for j in range(key_length)] for i in range(query_length)]
        return np.array(rows, np.float32).reshape(query_length, key_length)
    ok = np.zeros((query_length, key_length), bool)
    for i in range(query_length):
        ok[i, :max(0, i + offset + 1)] = True
    return ok


def split_heads(x, num_heads):
    x = np.asarray(x)
    base.refuse(x.ndim != 3 or num_heads < 1 or x.shape[2] % num_heads, "shape")
    E = x.shape[2] // num_heads
    return np.stack([x[..., h * E:(h + 1) * E] for h in range(num_heads)], 1)


def combine_heads(x):
    x = np.asarray(x)
    base.refuse(x.ndim != 4, "rank")
    return np.concatenate(list(np.moveaxis(x, 1, 0)), -1) if x.shape[1] else np.zeros((x.shape[0], x.shape[2], 0), x.dtype)


def glorot_normal(fan_in, fan_out, seed):
    rng = np.random.RandomState(seed % 2 ** 32)
    u, v = rng.random_sample((2, fan_in, fan_out))
    return np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v) * math.sqrt(2 / (fan_in + fan_out))
