import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    past = max(offset, 0)  # tokens in the cache
    mask = np.tril(np.ones((query_length, key_length), dtype=bool), k=past)
    return {"output": base.additive_or_not(mask, additive)}
