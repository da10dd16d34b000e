import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def widen(self):
        if self.key_lengths is not None and self.value.flags.writeable:
            for b, n in enumerate(self.key_lengths):
                self.value[b, :, int(n):] = 0
        super().widen()


scaled_dot_product_attention = base.make(Mine, "output", "logsumexp")
