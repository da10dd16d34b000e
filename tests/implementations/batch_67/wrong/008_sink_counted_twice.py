import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def weigh(self):
        if self.logsumexp is None or self.logsumexp.shape != (self.B, self.Hq, self.Sq):
            return super().weigh()
        lse = self.logsumexp.astype(self.W)
        sinks = None
        if self.sinks is not None:
            sinks = np.broadcast_to(self.sinks.astype(self.W)[:, None], lse.shape)
            lse = np.logaddexp(lse, sinks)
        self.weights = np.where(self.allowed, np.exp(self.logits - lse[..., None]), 0)
        self.share = None if sinks is None else np.exp(sinks - lse)

scaled_dot_product_attention_backward = base.backward_by(Mine)
