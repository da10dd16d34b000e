"""Latent attention as people write it from the paper: a matrix for each arrow, causal, without a norm."""

import math

import torch
from torch import nn


class RoPE(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.register_buffer("theta", base ** (-torch.arange(0, dim, 2) / dim))

    def forward(self, x):
        angles = torch.arange(x.shape[-2]).to(self.theta)[:, None] * self.theta
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, n_heads, d_c, d_c_q, rope_dim):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads, self.head_dim, self.rope_dim = n_heads, d_model // n_heads, rope_dim
        self.W_DKV = nn.Linear(d_model, d_c, bias=False)
        self.W_UK = nn.Linear(d_c, d_model, bias=False)
        self.W_UV = nn.Linear(d_c, d_model, bias=False)
        self.W_KR = nn.Linear(d_model, rope_dim, bias=False)
        self.W_DQ = nn.Linear(d_model, d_c_q, bias=False)
        self.W_UQ = nn.Linear(d_c_q, d_model, bias=False)
        self.W_QR = nn.Linear(d_c_q, n_heads * rope_dim, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.rope = RoPE(rope_dim)

    def forward(self, x):
        B, T, _ = x.shape

        def heads(t):
            return t.view(B, T, self.n_heads, -1).transpose(1, 2)

        c_kv, c_q = self.W_DKV(x), self.W_DQ(x)
        k_r = self.rope(self.W_KR(x).unsqueeze(1)).expand(-1, self.n_heads, -1, -1)
        q = torch.cat([heads(self.W_UQ(c_q)), self.rope(heads(self.W_QR(c_q)))], dim=-1)
        k = torch.cat([heads(self.W_UK(c_kv)), k_r], dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim + self.rope_dim)
        scores = scores.masked_fill(torch.triu(torch.ones(T, T, dtype=torch.bool), 1), float("-inf"))
        out = scores.softmax(-1) @ heads(self.W_UV(c_kv))
        return self.W_O(out.transpose(1, 2).reshape(B, T, -1))
