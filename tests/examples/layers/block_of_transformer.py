"""Attention as a block of a transformer: its tokens are added to what it attends to, and the sum is normalized."""

from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model, d_k, d_v, dropout=0.1):
        super().__init__()
        self.n_head, self.d_k, self.d_v = n_head, d_k, d_v
        self.w_qs = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_ks = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_vs = nn.Linear(d_model, n_head * d_v, bias=False)
        self.fc = nn.Linear(n_head * d_v, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, q, k, v, mask=None):
        batch, residual = q.size(0), q
        q = self.w_qs(q).view(batch, -1, self.n_head, self.d_k).transpose(1, 2)
        k = self.w_ks(k).view(batch, -1, self.n_head, self.d_k).transpose(1, 2)
        v = self.w_vs(v).view(batch, -1, self.n_head, self.d_v).transpose(1, 2)
        scores = q / self.d_k**0.5 @ k.transpose(2, 3)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        weights = self.dropout(scores.softmax(dim=-1))
        output = (weights @ v).transpose(1, 2).contiguous().view(batch, -1, self.n_head * self.d_v)
        return self.layer_norm(self.dropout(self.fc(output)) + residual), weights
