import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


WORKSPACE = {}


class Handed(base.Paged):
    def run(self):
        given = super().run()
        own = given["logsumexp"]
        space = WORKSPACE.setdefault((own.dtype.name, own.shape), np.empty_like(own))
        space[...] = own
        given["logsumexp"] = space[...]
        return given


scaled_dot_product_attention = base.paged(Handed)
