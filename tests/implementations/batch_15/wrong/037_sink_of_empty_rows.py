import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def gradsinks(self):
        keep = self.counts
        self.counts = keep & self.ok.any(-1)
        super().gradsinks()
        self.counts = keep


scaled_dot_product_attention_backward = base.entry(Mine)
