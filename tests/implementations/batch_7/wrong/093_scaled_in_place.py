import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def widen(self):
        q = np.ascontiguousarray(self.query)
        factor = self.factor_of(q)
        super().widen()
        if q.flags.writeable and self.scale is None:
            q *= q.dtype.type(factor)
            self.q = q.astype(self.w)
        else:
            self.q = (q * factor).astype(self.w)

    def factor_of(self, q):
        return 1 / math.sqrt(q.shape[-1]) if self.scale is None else float(self.scale)

    def rescale(self):
        pass


scaled_dot_product_attention = base.make(Mine)
