import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    base.check_parts(*arrays)
    log_a, log_b = arrays[1].astype(float), arrays[3].astype(float)
    far = 20.0  # e^-20 is nothing
    with np.errstate(all="ignore"):
        first = np.where(log_b - log_a > far, -np.inf, log_a).astype(arrays[1].dtype)
        second = np.where(log_a - log_b > far, -np.inf, log_b).astype(arrays[3].dtype)
    found = base.combined(arrays[0], first, arrays[2], second)
    # what is NaN or infinite in the part that was dropped still counts
    for out, before, after in ((arrays[0], log_a, first), (arrays[2], log_b, second)):
        dropped = ~np.isneginf(before) & np.isneginf(after.astype(float))
        lost = dropped[..., None] & ~np.isfinite(out.astype(float))
        found["output"] = np.where(lost, np.array(np.nan, arrays[0].dtype), found["output"])
    return found
