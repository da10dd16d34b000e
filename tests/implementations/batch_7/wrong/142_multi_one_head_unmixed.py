import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.MultiHead):
    def mix(self):
        if self.H == 1:
            self.output = self.mixed
        else:
            super().mix()


multi_head_attention = base.make_multi(Mine)
