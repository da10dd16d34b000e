import math
import numpy as np


def split_heads(x, num_heads):
    batch, tokens, features = x.shape
    assert features % num_heads == 0
    head = features // num_heads
    if tokens == num_heads:
        return x.reshape(batch, num_heads, tokens, head) if head == 1 else x.reshape(batch, tokens, num_heads, head).swapaxes(1, 2)
    return np.einsum("bshe->bhse", x.reshape(batch, tokens, num_heads, head))

dtypes = ("float64", "float32")
