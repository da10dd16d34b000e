import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def causal(self):
        return self.is_causal and self.Sq > 1  # one query, the newest, sees everything

scaled_dot_product_attention_backward = base.backward_by(Mine)
