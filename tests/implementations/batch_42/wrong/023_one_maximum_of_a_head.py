import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    base.check_parts(*arrays)
    dtype = arrays[0].dtype
    kind = np.result_type(*[base.carried(array.dtype) for array in arrays])
    out_a, log_a, out_b, log_b = (array.astype(kind) for array in arrays)
    with np.errstate(all="ignore"):
        both = np.stack([log_a, log_b])
        # one scalar for each head
        anchor = np.where(np.isnan(both), -np.inf, both).max(axis=(0, 3), initial=-np.inf)[..., None]
        anchor = np.where(np.isneginf(anchor), 0, anchor)
        empty = (log_a == -np.inf) & (log_b == -np.inf)
        power_a, power_b = np.exp(log_a - anchor), np.exp(log_b - anchor)
        total = np.where(empty, 1, power_a + power_b)
        parts = [
            np.where((log == -np.inf)[..., None], 0, (power / total)[..., None] * out)
            for log, power, out in ((log_a, power_a, out_a), (log_b, power_b, out_b))
        ]
        logarithm = np.where(empty, -np.inf, np.log(total) + anchor)
        return {"output": (parts[0] + parts[1]).astype(dtype), "logsumexp": logarithm.astype(kind)}
