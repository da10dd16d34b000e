import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


class Steps(base.Backward):
    def softmax(self):
        super().softmax()
        if self.sinks is not None:
            self.share = 1 - self.weights.sum(-1)


scaled_dot_product_attention_backward = base.bind(Steps)
