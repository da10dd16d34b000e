import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 64


class Wrong(base.Backward):
    def visited(self):
        """Which tiles of queries the loop over a tile of keys goes to: (B, 1, Sq, Sk)."""
        left = None if self.window is None else self.window[0]
        if left is None or self.Sq == 0:
            return True
        start = self.p[:, 0]
        keys_end = (np.arange(self.Sk) // TILE + 1) * TILE
        end = np.maximum((keys_end - start[:, None] + left) // TILE, 1)  # should round up
        return (np.arange(self.Sq)[:, None] // TILE < end[:, None, :])[:, None]

    def find_grad_value(self):
        seen = self.allowed & self.visited()
        self.dv = base.product(self.weights.swapaxes(-1, -2), seen.swapaxes(-1, -2), self.do)

    def find_grad_key(self):
        seen = self.allowed & self.visited()
        self.dk = base.product(self.dscores.swapaxes(-1, -2), seen.swapaxes(-1, -2), self.q) * self.work.type(self.factor)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()
