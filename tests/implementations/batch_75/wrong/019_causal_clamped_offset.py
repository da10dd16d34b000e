import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    offset = min(offset, max(key_length - query_length, 0))  # the last query stands at the last key at most
    return base.causal_mask(query_length, key_length, offset, additive)
