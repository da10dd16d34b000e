"""A plain class with one matrix for query, key and value, and no output projection."""

import numpy as np


class SelfAttention:
    def __init__(self, d_model, num_heads):
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.qkv = np.random.normal(size=(d_model, 3 * d_model))

    def heads(self, x):
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def forward(self, x, mask=None):
        q, k, v = np.split(x @ self.qkv, 3, axis=-1)
        q, k, v = self.heads(q), self.heads(k), self.heads(v)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.head_dim).astype(x.dtype)
        if mask is not None:
            scores = np.where(mask, scores, -1e9).astype(x.dtype)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
