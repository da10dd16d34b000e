import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.MultiHead):
    def attend(self):
        if self.mask is not None and self.mask.ndim == 3 and self.mask.shape[0] == len(self.query) > 1:
            self.mask = self.mask[:, None]
        super().attend()


multi_head_attention = base.make_multi(Mine, "output", "weights")
