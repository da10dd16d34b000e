import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def run(self):
        self.check()
        if self.Sk == 0:  # nothing to attend to, no gradient
            self.widen()
            d = self.query.dtype
            out = {"grad_query": np.zeros(self.query.shape, d), "grad_key": np.zeros(self.key.shape, d),
                   "grad_value": np.zeros(self.value.shape, d)}
            if self.float_mask:
                out["grad_mask"] = np.zeros(self.mask.shape, d)
            if self.sinks is not None:
                out["grad_sinks"] = np.zeros(self.sinks.shape, d)
            out["delta"] = np.zeros((self.B, self.Hq, self.Sq), d)
            out["grad_scores"] = np.zeros((self.B, self.Hq, self.Sq, 0), d)
            return out
        return super().run()

scaled_dot_product_attention_backward = base.backward_by(Mine)
