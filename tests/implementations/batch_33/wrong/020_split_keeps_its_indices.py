import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


_orders = {}


def split_heads(x, num_heads):
    base.check_split(x, num_heads)
    B, S, D = x.shape
    if x.shape not in _orders:
        places = np.arange(B * S * D).reshape(B, S, num_heads, D // num_heads)
        _orders[x.shape] = places.transpose(0, 2, 1, 3).ravel()
    return {"output": x.ravel()[_orders[x.shape]].reshape(B, num_heads, S, D // num_heads)}
