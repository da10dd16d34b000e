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
        largest = np.maximum(log_a, log_b)
        empty = largest == -np.inf
        distance = np.where(empty, np.inf, np.abs(log_a - log_b))
        distance = np.where(log_a == log_b, 0, distance)
        merged = np.where(empty, -np.inf, largest + np.log1p(np.exp(-distance)))
        anchor = np.where(empty, 0, merged)
        output = 0
        for out, log in ((out_a, log_a), (out_b, log_b)):
            share = np.exp(log - anchor)[..., None]
            output = output + np.where((log == -np.inf)[..., None], 0, share * out)
        # a part that is alone is handed on
        output = np.where((log_a == -np.inf)[..., None] & ~empty[..., None], out_b, output)
        output = np.where((log_b == -np.inf)[..., None] & ~empty[..., None], out_a, output)
        output = np.where((np.isnan(log_a) | np.isnan(log_b))[..., None], np.nan, output)
        return {"output": output.astype(dtype), "logsumexp": merged.astype(kind)}
