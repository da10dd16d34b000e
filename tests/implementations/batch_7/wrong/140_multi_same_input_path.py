import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.MultiHead):
    def project(self):
        if self.query.shape == self.key.shape and np.array_equal(self.query, self.key) and np.array_equal(self.key, self.value):
            matrix = np.concatenate([self.w_query, self.w_key, self.w_value], axis=1).astype(self.w)
            zero = np.zeros(self.D, self.w)
            bias = np.concatenate([zero if b is None else b.astype(self.w) for b in (self.b_query, self.b_value, self.b_key)])
            joined = self.query.astype(self.w) @ matrix + bias
            self.q, self.k, self.v = np.split(joined, 3, axis=2)
        else:
            super().project()


multi_head_attention = base.make_multi(Mine)
