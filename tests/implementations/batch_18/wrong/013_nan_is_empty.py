import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base


class Merge(base.Merge):
    def larger(self, la, lb):
        return np.fmax(la, lb)

    def weigh(self, l, m):
        return np.where(l > -np.inf, np.exp(l - np.where(m == -np.inf, 0, m)), 0)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    return Merge()(output_a, logsumexp_a, output_b, logsumexp_b)
