import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def gradquery(self):
        part = np.zeros(self.q.shape, np.float32)
        for j in range(0, self.T, 32):
            cut = slice(j, j + 32)
            part += base.mm(self.ds[..., cut], self.k[..., cut, :], self.ok[..., cut]).astype(np.float32)
        self.gq = self.s * part.astype(self.dt)


scaled_dot_product_attention_backward = base.entry(Mine)
