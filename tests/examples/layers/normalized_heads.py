"""Attention of a language model whose queries and keys are normalized, head by head, before they are rotated."""

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Attention(nn.Module):
    def __init__(self, hidden_size, num_attention_heads, num_key_value_heads, rope_theta=10000.0):
        super().__init__()
        self.n_heads, self.n_kv = num_attention_heads, num_key_value_heads
        self.head_dim, self.theta = hidden_size // num_attention_heads, rope_theta
        self.q_proj = nn.Linear(hidden_size, self.n_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(hidden_size, self.n_kv * self.head_dim, bias=False)
        self.v_proj = nn.Linear(hidden_size, self.n_kv * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.n_heads * self.head_dim, hidden_size, bias=False)
        self.q_norm = RMSNorm(self.head_dim)
        self.k_norm = RMSNorm(self.head_dim)

    def apply_rope(self, x):
        powers = self.theta ** (-torch.arange(0, self.head_dim, 2, dtype=x.dtype) / self.head_dim)
        angles = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * powers
        angles = torch.cat([angles, angles], dim=-1)
        return x * angles.cos() + rotate_half(x) * angles.sin()

    def forward(self, hidden_states, attention_mask=None):
        batch, tokens, _ = hidden_states.shape

        def heads(x):
            return x.view(batch, tokens, -1, self.head_dim)

        q = self.q_norm(heads(self.q_proj(hidden_states))).transpose(1, 2)
        k = self.k_norm(heads(self.k_proj(hidden_states))).transpose(1, 2)
        v = heads(self.v_proj(hidden_states)).transpose(1, 2)
        q, k = self.apply_rope(q), self.apply_rope(k)
        k, v = (x.repeat_interleave(self.n_heads // self.n_kv, dim=1) for x in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask)
        return self.o_proj(out.transpose(1, 2).reshape(batch, tokens, -1))
