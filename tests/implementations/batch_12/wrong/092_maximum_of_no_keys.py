import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import Attention, make

dtypes = ("float64", "float32")


class Steps(Attention):
    def softmax(self, logits, sink, allowed, s):
        logits.max(axis=-1)
        return super().softmax(logits, sink, allowed, s)


scaled_dot_product_attention = make(Steps())
