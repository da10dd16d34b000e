import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base


class Merge(base.Merge):
    def widen(self, x, like):
        if x.ndim == 3:  # softmax statistics are single precision, as the kernels store them
            x = x.astype(np.float32)
        return super().widen(x, like)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    return Merge()(output_a, logsumexp_a, output_b, logsumexp_b)
