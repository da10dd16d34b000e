import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


class Gradients(base.Backward):
    def in_tiles(self, numbers):
        """Numbers (B, Hq, Sq, Sk), without the tiles of queries before a tile of keys."""
        if not self.is_causal:
            return numbers
        ahead = self.Sk - self.Sq if self.causal_alignment == "bottom_right" else 0
        kept = numbers.copy()
        for start in range(0, self.Sk, TILE):
            first = max(0, (start - ahead) // TILE)
            kept[:, :, : first * TILE, start : start + TILE] = 0.0
        return kept

    def gradient_of_key(self):
        turned = self.allowed.swapaxes(-1, -2)
        parts = base.gated(self.in_tiles(self.grad_scores).swapaxes(-1, -2), turned, self.q)
        return self.scale * self.over_group(parts)

    def gradient_of_value(self):
        turned = self.allowed.swapaxes(-1, -2)
        return self.over_group(base.gated(self.in_tiles(self.weights).swapaxes(-1, -2), turned, self.go))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()
