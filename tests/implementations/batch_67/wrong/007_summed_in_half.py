import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def transposed(self, coefficients, vectors):
        if self.query.dtype not in base.HALF:
            return super().transposed(coefficients, vectors)
        dtype = self.query.dtype
        total = np.zeros((self.B, self.Hq, self.Sk, vectors.shape[-1]), dtype)
        for i in range(self.Sq):  # the buffer of the gradient is added to, query by query
            part = np.where(self.allowed[:, :, i, :, None], coefficients[:, :, i, :, None] * vectors[:, :, i, None, :], 0)
            total = (total.astype(np.float32) + part.astype(np.float32)).astype(dtype)
        return total.astype(self.W)

scaled_dot_product_attention_backward = base.backward_by(Mine)
