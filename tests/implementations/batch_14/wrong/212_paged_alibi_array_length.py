import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged"



class Core(base.Attention):
    def bias(self, s, slopes, p, work):
        if slopes is None:
            return s
        stands = self.shift + np.arange(s.shape[2])
        distance = np.abs(stands[:, None] - np.arange(s.shape[3])).astype(work)
        return s - np.asarray(slopes).astype(work)[:, None, None] * distance


class Engine(base.Paged):
    def sequence(self, q, k, v, mask, a):
        self.distance_shift = k.shape[1] - self.queries if a.get("causal_alignment") == "bottom_right" else 0
        return super().sequence(q, k, v, mask, a)

    def run(self, **a):
        self.queries = a["query"].shape[2]
        return super().run(**a)

    def core(self):
        core = Core()
        core.shift = self.distance_shift
        return core


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Engine().run(**locals())
