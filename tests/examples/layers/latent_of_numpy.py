"""Latent attention without rotary features, causal, in NumPy: one matrix makes keys and values of the latents."""

import numpy as np


class LatentAttention:
    def __init__(self, d_model, num_heads, latent_dim):
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.w_q = np.random.normal(size=(d_model, d_model))
        self.kv_down = np.random.normal(size=(d_model, latent_dim))
        self.kv_up = np.random.normal(size=(latent_dim, 2 * d_model))
        self.w_o = np.random.normal(size=(d_model, d_model))

    def split(self, x):
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).swapaxes(1, 2)

    def forward(self, x):
        latent = x @ self.kv_down
        q, (k, v) = self.split(x @ self.w_q), map(self.split, np.split(latent @ self.kv_up, 2, axis=-1))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.head_dim).astype(x.dtype)
        seen = np.tril(np.ones(scores.shape[-2:], bool))
        scores = np.where(seen, scores, -np.inf).astype(x.dtype)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ self.w_o
