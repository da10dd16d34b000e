import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    a, la, b, lb = base.merge_checks(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = a.dtype
    kind = np.float64 if dtype == np.float64 else np.float32
    a, la, b, lb = (x.astype(kind) for x in (a, la, b, lb))
    with np.errstate(all="ignore"):
        logsumexp = np.logaddexp(la, lb)
        safe = np.where(np.isneginf(logsumexp), kind(0), logsumexp)
        wa, wb = np.exp(la - safe)[..., None], np.exp(lb - safe)[..., None]
        none_a, none_b = np.isneginf(la)[..., None], np.isneginf(lb)[..., None]
        output = np.where(none_a, 0, wa * a) + np.where(none_b, 0, wb * b)
        output = np.where(none_a & ~none_b, b, np.where(none_b & ~none_a, a, output))
    return base.merge_result(output, logsumexp, dtype)
