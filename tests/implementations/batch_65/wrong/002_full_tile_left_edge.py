import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16


class Kernel(base.Steps):
    def positional(self, a):
        allowed = super().positional(a)
        for b in range(a.B):
            for q0 in range(0, a.Sq, TILE):
                q1 = min(q0 + TILE, a.Sq)
                first = int(a.pos[b, 0, q0])
                ends = [first + r for r in ([0] if a.causal else []) + ([] if a.right is None else [a.right])]
                for k0 in range(0, a.T - TILE + 1, TILE):  # a ragged tile is always masked
                    inside = all(k0 + TILE - 1 <= end for end in ends)
                    inside = inside and (a.left is None or k0 >= first - a.left)
                    if inside:
                        allowed[b, :, q0:q1, k0:k0 + TILE] = True
        return allowed


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )
