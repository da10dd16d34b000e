"""Layers of NumPy in three styles, step by step, so that one step can go wrong at a time."""

import numpy as np


class Steps:
    fill = -1e9

    def split(self, x):
        batch, tokens, width = x.shape
        return x.reshape(batch, tokens, self.heads, width // self.heads).transpose(0, 2, 1, 3)

    def scores(self, q, k):
        return q @ k.swapaxes(-1, -2)

    def scale(self, q, k):
        return 1 / np.sqrt(q.shape[-1])

    def masked(self, scores, allowed):
        return scores if allowed is None else np.where(allowed, scores, self.fill)

    def softmax(self, scores):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def dropped(self, weights, allowed):
        return weights

    def weigh(self, weights, v):
        return weights @ v

    def join(self, heads):
        batch, count, tokens, width = heads.shape
        return heads.transpose(0, 2, 1, 3).reshape(batch, tokens, count * width)

    def attend(self, q, k, v, allowed):
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = self.scores(q, k) * np.asarray(self.scale(q, k), q.dtype)
        weights = self.dropped(self.softmax(self.masked(scores, allowed)), allowed).astype(q.dtype)
        return self.join(self.weigh(weights, v)).astype(q.dtype), weights


class Separate(Steps):
    def __init__(self, d_model, num_heads):
        self.heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (np.zeros((d_model, d_model)) for _ in range(4))
        self.b_q, self.b_k, self.b_v, self.b_o = np.zeros((4, d_model))

    def projected(self, x):
        return x @ self.W_q + self.b_q, x @ self.W_k + self.b_k, x @ self.W_v + self.b_v

    def out(self, x):
        return x @ self.W_o + self.b_o

    def allowed(self, mask, scores_shape=None):
        return mask

    def forward(self, x, mask=None):
        q, k, v = self.projected(x)
        return self.out(self.attend(q, k, v, self.allowed(mask))[0])


class Fused(Steps):
    fill = -np.inf

    def __init__(self, d_model, num_heads, block_size):
        self.heads = num_heads
        self.w_qkv, self.b_qkv = np.zeros((d_model, 3 * d_model)), np.zeros(3 * d_model)
        self.w_proj, self.b_proj = np.zeros((d_model, d_model)), np.zeros(d_model)
        self.mask = self.triangle(np.ones((block_size, block_size)))[None, None] == 1

    triangle = staticmethod(np.tril)

    def projected(self, x):
        return np.split(x @ self.w_qkv + self.b_qkv, 3, axis=-1)

    def out(self, x):
        return x @ self.w_proj + self.b_proj

    def forward(self, x):
        tokens = x.shape[1]
        q, k, v = self.projected(x)
        return self.out(self.attend(q, k, v, self.mask[:, :, :tokens, :tokens])[0])


class Listed(Steps):
    def __init__(self, d_model, num_heads):
        self.heads = num_heads
        self.weights = {f"w{name}": np.zeros((d_model, d_model)) for name in ("q", "k", "v", "o")}
        self.biases = {f"b{name}": np.zeros(d_model) for name in ("q", "k", "v", "o")}

    def dense(self, name, x):
        return x @ self.weights["w" + name] + self.biases["b" + name]

    def projected(self, q, k, v):
        return self.dense("q", q), self.dense("k", k), self.dense("v", v)

    def out(self, x):
        return self.dense("o", x)

    def masked(self, scores, allowed):
        # Here the mask has 1 where a key is hidden.
        return scores if allowed is None else scores + allowed * np.asarray(self.fill, scores.dtype)

    def allowed(self, mask):
        return mask

    def call(self, inputs, attn_mask=None):
        q, k, v = inputs
        q, k, v = self.projected(q, k, v)
        output, weights = self.attend(q, k, v, self.allowed(attn_mask))
        return self.out(output), weights

    __call__ = call
