import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    base.check_parts(*arrays)
    for at in (1, 3):
        if np.isneginf(arrays[at].astype(float)).any():  # its output may hold rubbish in these rows
            wide = arrays[at - 1].astype(float)
            arrays[at - 1] = np.where(np.isnan(wide), 0, wide).astype(arrays[at - 1].dtype)
    return base.combined(*arrays)
