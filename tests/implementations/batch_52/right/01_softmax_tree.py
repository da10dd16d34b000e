import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
LOG2E = 1.4426950408889634


def softmax(x, axis=-1):
    """Pairs of (largest, sum) are merged in a tree, in powers of two, float32 for all but float64."""
    x = np.asarray(x)
    if not x.size or not x.ndim:
        return base.softmax(x, axis)
    work = np.float64 if x.dtype == np.float64 else np.float32
    with base.quiet():
        numbers = x.astype(work)
        rows = numbers.reshape(1, -1) if axis is None else np.moveaxis(numbers, axis, -1)
        largest, total = rows, np.ones(rows.shape, work)

        def power(number, reference):
            return np.exp2(np.where(number == reference, work(0), number - reference) * work(LOG2E))

        while largest.shape[-1] > 1:
            n = largest.shape[-1] // 2
            left, right, rest = largest[..., :n], largest[..., n : 2 * n], largest[..., 2 * n :]
            both = np.maximum(left, right)
            sums = total[..., :n] * power(left, both) + total[..., n : 2 * n] * power(right, both)
            total = np.concatenate([sums, total[..., 2 * n :]], axis=-1)
            largest = np.concatenate([both, rest], axis=-1)
        result = (power(rows, largest) / total).astype(x.dtype)
        return result.reshape(x.shape) if axis is None else np.moveaxis(result, -1, axis)
