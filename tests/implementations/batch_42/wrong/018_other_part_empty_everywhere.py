import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    base.check_parts(*arrays)
    logs = arrays[1].astype(float), arrays[3].astype(float)
    kind = np.result_type(*[base.carried(array.dtype) for array in arrays])
    # a device that had no keys at all
    if np.isnan(logs[0]).any() or np.isnan(logs[1]).any():
        return base.combined(*arrays)
    if logs[1].size and np.isneginf(logs[1]).all():
        return {"output": arrays[0].copy(), "logsumexp": arrays[1].astype(kind)}
    if logs[0].size and np.isneginf(logs[0]).all():
        return {"output": arrays[2].astype(arrays[0].dtype), "logsumexp": arrays[3].astype(kind)}
    return base.combined(*arrays)
