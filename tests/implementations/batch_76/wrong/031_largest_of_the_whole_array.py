"""The largest number of the whole array is subtracted, not that of the axis, and a sum of 0 is taken for 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Softmax):
    def __call__(self, x, axis=-1):
        x = np.asarray(x)
        if x.size == 0:
            return x.copy()
        work = np.float64 if x.dtype == np.float64 else np.float32
        values = x.astype(work)
        exponentials = np.exp(values - values.max())
        total = exponentials.sum(axis=axis, keepdims=True)
        return (exponentials / np.where(total == 0, 1, total)).astype(x.dtype)


softmax = base.softmax_function(Wrong)
