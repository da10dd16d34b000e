import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def split_heads(x, num_heads):
    base.check_split(x, num_heads, divisible=False)
    B, S, D = x.shape
    tokens = -1 if x.size else S
    heads = x.reshape(B, tokens, num_heads, D // num_heads)
    return {"output": heads.transpose(0, 2, 1, 3).copy()}
