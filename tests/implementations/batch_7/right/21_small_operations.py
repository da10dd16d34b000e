import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def softmax(x, axis=-1):
    """By the logarithm of the sum."""
    y = x.astype(base.work(x.dtype))
    y = y - y.max(axis=axis, keepdims=True)
    return np.exp(y - np.log(np.exp(y).sum(axis=axis, keepdims=True))).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    ok = np.tri(query_length, query_length if key_length is None else key_length, offset, dtype=bool)
    return np.where(ok, np.float32(0), np.float32(-np.inf)) if additive else ok


def split_heads(x, num_heads):
    if x.shape[2] % num_heads:
        raise ValueError("heads")
    return np.stack(np.split(x, num_heads, axis=2), axis=1)


def combine_heads(x):
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=2)
