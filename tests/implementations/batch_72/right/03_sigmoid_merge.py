import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """The part with the larger logarithm gets the share 1 / (1 + 2^-d), the other one what 2^-d leaves; no part is masked
    afterwards: rows are sorted by what they need."""
    oa, la, ob, lb = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, work = oa.dtype, base.work_dtype(oa.dtype)
    oa, la, ob, lb = (base.widen(a, work) for a in (oa, la, ob, lb))
    output, logsumexp = np.zeros(oa.shape, work), np.full(la.shape, -np.inf, work)
    only_a, only_b = np.isneginf(lb) & ~np.isneginf(la), np.isneginf(la) & ~np.isneginf(lb)
    output[only_a], logsumexp[only_a] = oa[only_a], la[only_a]
    output[only_b], logsumexp[only_b] = ob[only_b], lb[only_b]
    rows = ~np.isneginf(la) & ~np.isneginf(lb)
    with np.errstate(**base.QUIET):
        first = ~(lb > la)[rows]
        larger, smaller = np.where(first, la[rows], lb[rows]), np.where(first, lb[rows], la[rows])
        strong = np.where(first[:, None], oa[rows], ob[rows])
        weak = np.where(first[:, None], ob[rows], oa[rows])
        ratio = np.exp2((smaller - larger) * work.type(np.log2(np.e)))[:, None]
        mixed = strong * (1 / (1 + ratio)) + weak * (ratio / (1 + ratio))
        finite = np.isfinite(strong) & np.isfinite(weak)
        mixed = np.where(finite, np.maximum(np.minimum(mixed, np.maximum(strong, weak)), np.minimum(strong, weak)), mixed)
        output[rows] = mixed
        logsumexp[rows] = larger + np.log1p(ratio[:, 0])
    return {"output": base.narrow(output, dtype), "logsumexp": logsumexp}
