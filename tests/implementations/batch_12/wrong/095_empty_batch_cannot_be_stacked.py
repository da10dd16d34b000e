import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import Attention, make

dtypes = ("float64", "float32")


class Steps(Attention):
    def finish(self, a, s, results):
        results["output"] = np.stack([o for o in results["output"]])
        return results


scaled_dot_product_attention = make(Steps())
