import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Kernel):
    def fold(self, s, state, x, value, allowed):
        m, l, acc = state
        m, l, whole = super().fold(s, state, x, value, allowed)
        done = np.zeros_like(whole)
        for part in range(max(1, s.Ev // 32)):  # 32 features of the values at a time
            columns = slice(32 * part, min(32 * part + 32, s.Ev))
            done[..., columns] = whole[..., columns]
        return m, l, done


scaled_dot_product_attention = base.operation(Mine)
