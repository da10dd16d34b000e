"""Rotary positions in halves, heads that share keys, and a cache that comes back, without any library."""

import numpy as np


def tables(positions, width, theta=10000.0):
    angles = np.outer(positions, theta ** (-np.arange(0, width, 2) / width))
    angles = np.concatenate([angles, angles], axis=-1)
    return np.cos(angles), np.sin(angles)


def rotate_half(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def apply_rotary(x, cos, sin):
    return (x * cos + rotate_half(x) * sin).astype(x.dtype)


class GroupedAttention:
    def __init__(self, d_model, num_heads, num_kv_heads):
        self.num_heads, self.num_kv_heads, self.width = num_heads, num_kv_heads, d_model // num_heads
        self.w_q = np.random.normal(size=(d_model, d_model))
        self.w_k, self.w_v = np.random.normal(size=(2, d_model, num_kv_heads * self.width))
        self.w_o = np.random.normal(size=(d_model, d_model))

    def forward(self, x, past=None):
        batch, tokens, _ = x.shape
        q = (x @ self.w_q).reshape(batch, tokens, self.num_heads, self.width).transpose(0, 2, 1, 3)
        k = (x @ self.w_k).reshape(batch, tokens, self.num_kv_heads, self.width).transpose(0, 2, 1, 3)
        v = (x @ self.w_v).reshape(batch, tokens, self.num_kv_heads, self.width).transpose(0, 2, 1, 3)
        start = 0 if past is None else past[0].shape[2]
        cos, sin = tables(np.arange(start, start + tokens), self.width)
        q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)
        if past is not None:
            k, v = np.concatenate([past[0], k], axis=2), np.concatenate([past[1], v], axis=2)
        present = (k, v)
        k, v = (np.repeat(each, self.num_heads // self.num_kv_heads, axis=1) for each in (k, v))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.width).astype(x.dtype)
        seen = np.tril(np.ones((tokens, start + tokens), bool), start)
        scores = np.where(seen, scores, -np.inf).astype(x.dtype)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ self.w_o, present
