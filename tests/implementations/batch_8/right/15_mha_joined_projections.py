import numpy as np

conventions = {"masked_nonfinite": "propagates"}


def _projections(query, key, value, w_query, w_key, w_value):
    """Self-attention multiplies once by all three matrices side by side."""
    if query is key and key is value:
        joined = query @ np.concatenate([w_query, w_key, w_value], axis=1)
        return np.split(joined, 3, axis=2)
    return query @ w_query, key @ w_key, value @ w_value


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=None, is_causal=False, scale=None):
    if not query.ndim == key.ndim == value.ndim == 3:
        raise ValueError("query, key and value must be of rank 3")
    batch, n, width = query.shape
    m = key.shape[1]
    if num_heads < 1 or width % num_heads:
        raise ValueError("heads")
    q, k, v = _projections(query, key, value, w_query, w_key, w_value)
    q = q if b_query is None else q + b_query
    k = k if b_key is None else k + b_key
    v = v if b_value is None else v + b_value
    q = q.reshape(batch, n, num_heads, width // num_heads)
    k = k.reshape(batch, m, num_heads, width // num_heads)
    v = v.reshape(batch, m, num_heads, width // num_heads)
    factor = q.shape[3] ** -0.5 if scale is None else scale
    logits = np.einsum("bihe,bjhe->bhij", q, k) * query.dtype.type(factor)
    bias = np.zeros((batch, num_heads, n, m), query.dtype)
    if is_causal:
        bias = np.where(np.arange(m)[None, :] > np.arange(n)[:, None], -np.inf, bias)
    if mask is not None:
        bias = np.where(mask, bias, -np.inf) if mask.dtype == bool else bias + mask
    logits = (logits + bias).astype(query.dtype)
    dead = np.isneginf(logits).all(axis=3, keepdims=True)
    top = np.where(dead, 0, logits.max(axis=3, keepdims=True))
    e = np.exp(logits - top)
    weights = e / np.where(dead, 1, e.sum(axis=3, keepdims=True))
    mixed = np.einsum("bhij,bjhe->bihe", weights, v).reshape(batch, n, width)
    output = mixed @ w_output
    if b_output is not None:
        output = output + b_output
    return {"output": output, "weights": weights}

dtypes = ("float64", "float32")
