import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Kernel):
    def start(self, s, count):
        sink, s.sink = s.sink, None
        state = super().start(s, count)
        s.sink = sink
        return state

    def close(self, s, state, alive):
        m, l, acc = state
        if s.sink is not None:  # at the end, relative to the largest logit
            l = np.where(alive, l + np.exp(s.sink[:, None] - np.where(alive, m, 0)), l)
        return super().close(s, (m, l, acc), alive)


scaled_dot_product_attention = base.operation(Mine)
