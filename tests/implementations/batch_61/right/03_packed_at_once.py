import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


class Mine(base.Attention):
    """All sequences in one matrix of scores; tokens know their sequence and their position in it."""

    def place(self, s):
        super().place(s)
        s.p = s.query_positions[None, None, :]

    def positional(self, s):
        p, j = s.query_positions[:, None], s.key_positions[None, :]
        allowed = s.query_sequence[:, None] == s.key_sequence[None, :]
        if s.is_causal:
            allowed = allowed & (p >= j)
        left, right = s.window if s.window is not None else (None, None)
        if left is not None:
            allowed = allowed & (p - j <= left)
        if right is not None:
            allowed = allowed & (j - p <= right)
        return allowed[None, None]

    def add_biases(self, s, x):
        if s.alibi_slopes is not None:
            distance = np.abs(s.query_positions[:, None] - s.key_positions[None, :]).astype(s.work)
            x = x - np.asarray(s.alibi_slopes).astype(s.work)[None, :, None, None] * distance
        if s.mask is not None and s.mask.dtype != bool:
            x = x + s.mask.astype(s.work)
        return x


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    query_starts, key_starts = base.check_packed(query, key, value, query_starts, key_starts)
    N, L = np.diff(query_starts), np.diff(key_starts)
    sequences = np.arange(len(N))
    query_sequence, key_sequence = np.repeat(sequences, N), np.repeat(sequences, L)
    query_positions = np.arange(len(query)) - query_starts[query_sequence]
    key_positions = np.arange(len(key)) - key_starts[key_sequence]
    if causal_alignment == "bottom_right":
        query_positions = query_positions + (L - N)[query_sequence]
    if mask is not None:
        base.refuse(mask.shape[-1] < L.max(initial=0), "columns of the mask")
        mask = mask[..., key_positions]
        mask = mask if mask.ndim >= 2 else mask[None]
    given = Mine().run(
        *(x.swapaxes(0, 1)[None] for x in (query, key, value)), mask=mask,
        query_sequence=query_sequence, key_sequence=key_sequence, query_positions=query_positions, key_positions=key_positions,
        sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    return {"output": given["output"][0].swapaxes(0, 1), "logsumexp": given["logsumexp"][0].swapaxes(0, 1)}
