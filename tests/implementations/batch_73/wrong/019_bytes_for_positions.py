import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    keys = query_length if key_length is None else key_length
    kind = next(t for t in (np.int8, np.int16, np.int64) if max(query_length, keys) <= np.iinfo(t).max)
    rows, columns = np.arange(query_length, dtype=kind)[:, None], np.arange(keys, dtype=kind)[None, :]
    return base.written(columns <= rows + np.int64(offset).astype(kind), additive)
