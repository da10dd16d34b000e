import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


class One(base.Attention):
    shift = 0

    def by_window(self):
        if self.causal_alignment == "top_left":
            right_place, self.p = self.p, self.p + self.shift
            allowed = super().by_window()
            self.p = right_place
            return allowed
        return super().by_window()


class Global(base.Packed):
    kind = One

    def one(self, rows, cols):
        call = super().one(rows, cols)
        call.shift = int(rows[0] - cols[0]) if len(rows) and len(cols) else 0
        return call


scaled_dot_product_attention = base.packed(Global)
