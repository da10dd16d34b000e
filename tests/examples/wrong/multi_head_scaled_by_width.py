"""Multi-head attention that scales by the width of a token, not of a head, and leaves the bias of the output out."""

import numpy as np

name = "multi-head, scaled by the width"
dtypes = ("float64", "float32")
without = ("float_mask",)


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output, b_query=0, b_key=0, b_value=0, b_output=0, *, num_heads
):
    batch, _, width = query.shape

    def heads_of(tokens, weight, bias):
        return (tokens @ weight + bias).reshape(batch, -1, num_heads, width // num_heads).swapaxes(1, 2)

    scores = heads_of(query, w_query, b_query) @ heads_of(key, w_key, b_key).swapaxes(-1, -2) * width**-0.5
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    mixed = weights @ heads_of(value, w_value, b_value)
    return {"output": mixed.swapaxes(1, 2).reshape(query.shape) @ w_output, "weights": weights}
