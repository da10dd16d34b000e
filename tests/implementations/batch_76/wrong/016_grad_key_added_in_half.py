"""In half precision the gradient of a key is added up query by query in the dtype of the run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Backward):
    def grad_key(self, c):
        if c.dtype not in base.HALF:
            return super().grad_key(c)
        total = np.zeros(c.k.shape, c.dtype)
        for i in range(c.Sq):
            term = base.masked_product(
                self.turned(c.gs[..., i : i + 1, :]), c.q[..., i : i + 1, :], self.turned(c.see[..., i : i + 1, :])
            )
            total = (total.astype(np.float32) + (term * c.factor).astype(np.float32)).astype(c.dtype)
        return self.group(c, total.astype(np.float64))


scaled_dot_product_attention_backward = base.backward_function(Wrong)
