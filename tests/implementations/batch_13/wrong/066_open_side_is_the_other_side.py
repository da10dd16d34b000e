import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


class Steps(base.Backward):
    def near(self):
        if self.window is not None and self.window[0] is None and self.window[1] is not None:
            self.window = [self.window[1] if not self.is_causal else None, self.window[1]]
        return super().near()


scaled_dot_product_attention_backward = base.bind(Steps)
