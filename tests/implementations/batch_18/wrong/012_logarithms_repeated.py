import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base


class Merge(base.Merge):
    def check(self, oa, la, ob, lb):
        if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
            raise ValueError("rank")
        if oa.shape != ob.shape:
            raise ValueError("outputs differ in shape")
        if np.broadcast_shapes(la.shape, lb.shape, oa.shape[:3]) != oa.shape[:3]:
            raise ValueError("logarithms do not fit the outputs")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    return Merge()(output_a, logsumexp_a, output_b, logsumexp_b)
