import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    base.check_parts(*arrays)
    logs = []
    for log in (arrays[1], arrays[3]):
        none = log.astype(float) <= -1e30  # what the kernel starts its maximum with
        logs.append(np.where(none, np.array(-np.inf, log.dtype), log))
    return base.combined(arrays[0], logs[0], arrays[2], logs[1])
