import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def combine_heads(x):
    return np.einsum("bhse->bseh", x).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
