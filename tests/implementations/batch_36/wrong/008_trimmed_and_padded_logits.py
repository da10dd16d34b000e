import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Variant(base.Attention):
    def finish(self, a):
        most = int(a.L.max(initial=0))
        if a.key_lengths is not None and most < a.T and a.B:
            widths = [(0, 0)] * 3 + [(0, a.T - most)]
            a.weights, a.scores, a.logits = (np.pad(x[..., :most], widths) for x in (a.weights, a.scores, a.logits))
        return super().finish(a)


scaled_dot_product_attention = base.operation(Variant)
