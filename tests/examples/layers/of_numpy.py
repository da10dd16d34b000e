"""A plain class with NumPy's arrays, applied from the right, and a mask that is added."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class MultiHeadAttention:
    def __init__(self, d_model, num_heads, seed=0):
        rng = np.random.default_rng(seed)
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (rng.normal(size=(d_model, d_model)) for _ in range(4))
        self.b_Q, self.b_K, self.b_V, self.b_O = np.zeros((4, d_model))

    def _split(self, x):
        batch, tokens, _ = x.shape
        return x.reshape(batch, tokens, self.num_heads, self.d_head).transpose(0, 2, 1, 3)

    def forward(self, X, mask=None):
        Q = self._split(X @ self.W_Q + self.b_Q)
        K = self._split(X @ self.W_K + self.b_K)
        V = self._split(X @ self.W_V + self.b_V)
        scores = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(self.d_head).astype(X.dtype)
        if mask is not None:
            scores = scores + mask
        weights = softmax(scores)
        context = (weights @ V).transpose(0, 2, 1, 3).reshape(X.shape)
        return context @ self.W_O + self.b_O, weights
