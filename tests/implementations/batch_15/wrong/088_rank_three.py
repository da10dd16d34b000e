import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def run(self, a):
        if a["query"].ndim == a["key"].ndim == a["value"].ndim == a["grad_output"].ndim == 3:
            a = {**a, **{k: a[k][None] for k in ("query", "key", "value", "grad_output")}}
        return super().run(a)


scaled_dot_product_attention_backward = base.entry(Mine)
