import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Sequences(base.Packed):
    @staticmethod
    def numbered(starts, count):
        marks = np.zeros(count + 1, np.int64)
        marks[starts[1:-1]] = 1
        return np.cumsum(marks)[:count]

    def spans(self):
        of_query = self.numbered(self.query_starts, len(self.query))
        of_key = self.numbered(self.key_starts, len(self.key))
        for b in range(len(self.query_starts) - 1):
            yield np.flatnonzero(of_query == b), np.flatnonzero(of_key == b)


layout = "packed"
dtypes = base.DTYPES
scaled_dot_product_attention = base.packed(Sequences)
