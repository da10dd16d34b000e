import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.MultiHead):
    def attend(self):
        if self.scale is None and self.mask is not None:
            self.scale = 1 / math.sqrt(self.D)
        super().attend()


multi_head_attention = base.make_multi(Mine, "output", "weights")
