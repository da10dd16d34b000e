import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Backward):
    def over_queries(self, name, w, x):
        tile = 16
        result = np.zeros((self.B, self.Hq, self.Sk, x.shape[-1]))
        offset = self.Sk - self.Sq if self.alignment == "bottom_right" else 0
        for j0 in range(0, self.Sk, tile):
            js = slice(j0, j0 + tile)
            for i0 in range(0, self.Sq, tile):
                if self.causal and i0 + tile - 1 + offset < j0:
                    continue  # all of this tile lies above the diagonal
                rows = slice(i0, i0 + tile)
                result[:, :, js] += base.contract(
                    base.flipped(w[:, :, rows, js]), x[:, :, rows], base.flipped(self.allowed[:, :, rows, js]))
        return result


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Kernel().run(**locals())
