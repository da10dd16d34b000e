"""Where query, key and value are the same array one packed projection is made, with biases only if all three are given."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.MultiHead):
    def projections(self, m):
        places = {(x.__array_interface__["data"][0], x.shape, x.strides) for x in (m.query, m.key, m.value)}
        if len(places) > 1:
            return super().projections(m)
        weight = np.concatenate([np.asarray(w, np.float64) for w in (m.w_query, m.w_key, m.w_value)], axis=1)
        biases = (m.b_query, m.b_key, m.b_value)
        bias = None
        if all(b is not None for b in biases):
            bias = np.concatenate([np.asarray(b, np.float64) for b in biases])
        return np.split(self.project(m.query, weight, bias), 3, axis=-1)


multi_head_attention = base.multi_head_function(Wrong)
