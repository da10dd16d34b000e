import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def softmax_of(self, s):
        super().softmax_of(s)
        if not s.T or s.sink is not None:
            return
        kept = self.kept(s)
        found = ~self.visible(s).any(-1)[:, None] | ~self.counted(s).any(-1)
        if kept is not None:
            found = found | ~kept.any(-1)
        s.missed = ~s.ok.any(-1) & ~found
        s.weights = np.where(s.missed[..., None], s.work.type(1 / s.T), s.weights)

    def weigh(self, s):
        output = super().weigh(s)
        if s.T and s.sink is None:
            clean = np.where(np.isfinite(s.v), s.v, 0)
            output = np.where(s.missed[..., None], clean.mean(-2)[:, :, None], output)
        return output


scaled_dot_product_attention = base.build(Kernel)
