"""The last tile of queries that a tile of keys visits is found without the offset of bottom_right."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    TILE = 16

    def visited(self):
        """Which pairs (key, query) the loop over tiles of keys comes across."""
        visited = np.ones((self.Sk, self.Sq), bool)
        if self.window is not None and self.window[0] is not None:
            for start in range(0, self.Sk, self.TILE):
                stop = start + self.TILE
                last_tile = -(-(stop + int(self.window[0])) // self.TILE)
                visited[start:stop, last_tile * self.TILE:] = False
        return visited

    def value_gradient(self):
        return self.over_group(base.product(base.turned(self.w), self.go, base.turned(self.attend) & self.visited()))

    def key_gradient(self):
        attend = base.turned(self.attend) & self.visited()
        return self.over_group(self.factor * base.product(base.turned(self.ds), self.q, attend))


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()
