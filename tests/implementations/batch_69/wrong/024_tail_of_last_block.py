import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    dtype, (x, wq, wk, wv, wo) = base.single_inputs(x, w_query, w_key, w_value, w_output)
    if scale is None:
        scale = 1 / math.sqrt(wq.shape[1])
    scale = float(scale)
    with np.errstate(all="ignore"):
        query, key, value = x @ wq, x @ wk, x @ wv
        scores = query @ key.T * scale
        tokens = len(x)
        block = max(1, min(32, tokens))
        pad = -tokens % block  # the last block is filled up
        padded_key = np.concatenate([key, np.zeros((pad, key.shape[1]))])
        padded_value = np.concatenate([value, np.zeros((pad, value.shape[1]))])
        top = np.full((tokens, 1), -np.inf)
        total = np.zeros((tokens, 1))
        mixed = np.zeros((tokens, value.shape[1]))
        for start in range(0, tokens, block):
            part = query @ padded_key[start : start + block].T * scale
            higher = np.maximum(top, part.max(axis=-1, keepdims=True))
            shrink, shares = np.exp(top - higher), np.exp(part - higher)
            total = total * shrink + shares.sum(axis=-1, keepdims=True)
            mixed = mixed * shrink + shares @ padded_value[start : start + block]
            top = higher
        output = mixed / total
        weights = np.exp(scores - top) / total
        if wo is not None:
            output = output @ wo
    return base.single_outputs(dtype, output, weights, scores, query, key, value)
