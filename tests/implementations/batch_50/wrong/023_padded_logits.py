import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def finish(self, s):
        results = super().finish(s)
        if s.key_lengths is not None:  # entry by entry, with its keys alone, into zeros
            logits = np.zeros_like(results["logits"])
            for b in range(s.B):
                logits[b, :, :, :s.L[b]] = results["logits"][b, :, :, :s.L[b]]
            results["logits"] = logits
        return results


scaled_dot_product_attention = base.operation(Mine)
