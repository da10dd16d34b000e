import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


class Call(base.Backward):
    def over_rows(self, pieces, rows):
        if self.window is None or self.window[0] is None:
            return super().over_rows(pieces, rows)
        left = self.window[0]
        out = np.zeros((self.B, self.H, self.Sk, rows.shape[-1]), self.kind)
        for b in range(self.B):
            for n in range(0, self.Sk, TILE):
                reach = n + TILE - 1 + left - int(self.first[b])  # the last query that sees this tile
                end = min(self.Sq, max(0, -(-reach // TILE) * TILE))
                cut = np.s_[b, :, :end, n : n + TILE]
                out[b, :, n : n + TILE] = base.product(
                    base.turned(pieces[cut]), base.turned(self.pairs[cut]), rows[b, :, :end]
                )
        return out


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()
