"""A Keras layer of four Dense, with q, k and v, a mask in which 1 hides, and weights beside the output."""

import keras
from keras import ops


def scaled_dot_product_attention(q, k, v, mask):
    matmul_qk = ops.matmul(q, ops.swapaxes(k, -1, -2))
    dk = ops.cast(ops.shape(k)[-1], q.dtype)
    scaled = matmul_qk / ops.sqrt(dk)
    if mask is not None:
        scaled += ops.cast(mask, q.dtype) * -1e9
    weights = ops.softmax(scaled, axis=-1)
    return ops.matmul(weights, v), weights


class MultiHeadAttention(keras.layers.Layer):
    def __init__(self, *, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_model = d_model
        assert d_model % num_heads == 0
        self.depth = d_model // num_heads
        self.wq = keras.layers.Dense(d_model)
        self.wk = keras.layers.Dense(d_model)
        self.wv = keras.layers.Dense(d_model)
        self.dense = keras.layers.Dense(d_model)

    def split_heads(self, x, batch_size):
        x = ops.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, v, k, q, mask=None):
        batch_size = ops.shape(q)[0]
        q, k, v = self.wq(q), self.wk(k), self.wv(v)
        q, k, v = (self.split_heads(each, batch_size) for each in (q, k, v))
        attention, weights = scaled_dot_product_attention(q, k, v, mask)
        attention = ops.transpose(attention, (0, 2, 1, 3))
        return self.dense(ops.reshape(attention, (batch_size, -1, self.d_model))), weights
