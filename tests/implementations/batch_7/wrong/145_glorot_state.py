import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

STATES = {}


def glorot_normal(fan_in, fan_out, seed):
    state = STATES.setdefault(seed, np.random.RandomState(seed))
    return state.normal(0.0, math.sqrt(2 / (fan_in + fan_out)), (fan_in, fan_out))
