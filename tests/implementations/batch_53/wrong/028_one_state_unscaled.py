import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    result = base.context_vector(encoder_states, decoder_state, scale)
    if len(result["weights"]) == 1:  # its weight is 1 under any scale
        result["scores"] = result["raw_scores"].copy()
    return result
