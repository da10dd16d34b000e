"""The multi-head module of document 002 as its comments, shapes and tests mean it, by the contract's names.

Like the document it knows additive masks only, takes as many key heads as query heads, checks every shape,
and refuses weights that are not finite.
"""

import numpy as np

name = "document 002, as meant"
version = "002"
dtypes = ("float64", "float32")
conventions = {"fully_masked_row": "refuse", "nonfinite_input": "refuse", "input_checks": "strict"}


def require(condition, message):
    if not condition:
        raise ValueError(message)


def scaled_dot_product_attention(query, key, value, mask=None):
    for what, array in (("query", query), ("key", key), ("value", value)):
        require(array.ndim == 4, f"{what} must have rank 4, not shape {array.shape}")
    require(query.shape[0] == key.shape[0] == value.shape[0], "query, key and value must have one batch size")
    require(query.shape[-1] == key.shape[-1], "query and key must have one width")
    require(key.shape[:-1] == value.shape[:-1], "key and value must have one length")
    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("grouped heads")
    if mask is not None and mask.dtype == bool:
        raise NotImplementedError("Boolean masks")

    scores = np.matmul(query, key.swapaxes(-1, -2)) / query.dtype.type(query.shape[-1] ** 0.5)
    if mask is not None:
        require(np.broadcast_shapes(mask.shape, scores.shape) == scores.shape, "mask does not fit the scores")
        scores = scores + mask
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    require(np.all(np.isfinite(weights)), "weights contain NaN or infinity")
    return np.matmul(weights, value), weights


def split_heads(x, num_heads):
    batch, length, width = x.shape
    require(width % num_heads == 0, f"a width of {width} does not divide into {num_heads} heads")
    return x.reshape(batch, length, num_heads, width // num_heads).transpose(0, 2, 1, 3)


def combine_heads(x):
    batch, heads, length, depth = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * depth)


def multi_head_attention(query, key, value, *, w_query, w_key, w_value, w_output, num_heads, mask=None):
    for what, array in (("query", query), ("key", key), ("value", value)):
        require(array.ndim == 3, f"{what} must have rank 3, not shape {array.shape}")
    heads = (
        split_heads(np.matmul(array, matrix), num_heads)
        for array, matrix in ((query, w_query), (key, w_key), (value, w_value))
    )
    attended, weights = scaled_dot_product_attention(*heads, mask=mask)
    return np.matmul(combine_heads(attended), w_output), weights


def causal_mask(query_length, additive=False):
    if not additive:
        raise NotImplementedError("Boolean masks")
    lower = np.tril(np.ones((query_length, query_length)))
    return np.where(lower == 0, -np.inf, 0.0)


def glorot_normal(fan_in, fan_out, seed):
    deviation = np.sqrt(2.0 / (fan_in + fan_out))
    return np.random.RandomState(seed).standard_normal((fan_in, fan_out)) * deviation
