"""Multi-head attention whose heads are cut by a reshape alone, which mixes up the tokens."""

import numpy as np

name = "student, heads by reshape"
dtypes = ("float64", "float32")
mistake = "multi_head.split_not_transposed"


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, *, num_heads):
    batch, tokens, width = query.shape

    def heads_of(x, weight):
        return (x @ weight).reshape(batch, num_heads, -1, width // num_heads)

    scores = heads_of(query, w_query) @ heads_of(key, w_key).swapaxes(-1, -2) * (width // num_heads) ** -0.5
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = exponentials / exponentials.sum(axis=-1, keepdims=True) @ heads_of(value, w_value)
    return mixed.swapaxes(1, 2).reshape(batch, tokens, width) @ w_output
