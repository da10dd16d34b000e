import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""The share of the second part is the logistic function of the distance; the logarithm is softplus; rows are gathered."""


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    base.check_parts(*arrays)
    kind = np.result_type(*[base.carried(array.dtype) for array in arrays])
    shape, rows = arrays[0].shape, arrays[0].shape[:3]
    out_a, out_b = (np.ascontiguousarray(arrays[at]).astype(kind).reshape(int(np.prod(rows)), shape[3]) for at in (0, 2))
    log_a, log_b = (np.ascontiguousarray(arrays[at]).astype(kind).ravel() for at in (1, 3))
    output, logarithm = np.zeros_like(out_a), np.full_like(log_a, -np.inf)
    has_a, has_b = ~np.isneginf(log_a), ~np.isneginf(log_b)
    only_a, only_b = has_a & ~has_b, has_b & ~has_a
    for only, out, log in ((only_a, out_a, log_a), (only_b, out_b, log_b)):
        output[only], logarithm[only] = out[only], log[only]
        output[only & np.isnan(log)] = np.nan
    both = np.flatnonzero(has_a & has_b)
    with np.errstate(all="ignore"):
        away = log_b[both] - log_a[both]
        small = np.exp(-np.abs(away))
        lesser, greater = small / (1 + small), 1 / (1 + small)
        swapped = away > 0
        share_a, share_b = np.where(swapped, lesser, greater), np.where(swapped, greater, lesser)
        output[both] = share_b[:, None] * out_b[both] + share_a[:, None] * out_a[both]
        logarithm[both] = np.maximum(log_a[both], log_b[both]) + np.log1p(small)
    return {"output": output.reshape(shape).astype(arrays[0].dtype), "logsumexp": logarithm.reshape(rows)}
